"""The templates: their limits, and what can be told without running anything."""

from __future__ import annotations

import re
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest

from loop.core.rules import rule_path
from loop.errors import LoopError
from loop.setup.blocks import HTML, put, remove
from loop.setup.builder_settings import builder_settings

SCAFFOLDING = Path(__file__).parents[2] / "scaffolding"
PLACEHOLDERS = {
    "CLAUDE.md": {"commit_prefix"},
    "README.template.md": {"project", "date"},
    "builder.settings.json": {"root", "hook"},
    "project_instructions.md": {"server", "project", "root"},
    "roles/architect.md": set(),
    "roles/builder.md": set(),
    "roles/developer.md": set(),
    "roles/tester.md": set(),
    "server_instructions.md": {"server", "project", "root"},
}


def template(name: str) -> str:
    return (SCAFFOLDING / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PLACEHOLDERS)
def test_each_template_has_the_placeholders_that_are_filled_and_no_others(name: str) -> None:
    assert set(re.findall(r"\{\{(.*?)\}\}", template(name))) == PLACEHOLDERS[name]


def test_the_texts_stay_short() -> None:
    assert len(template("CLAUDE.md").splitlines()) < 60
    assert len(template("project_instructions.md").splitlines()) < 70
    assert len(template("project_instructions.md").encode()) < 6 * 1024


def test_the_server_instructions_fit_with_the_longest_name_and_a_long_path() -> None:
    filled = template("server_instructions.md")
    for placeholder, text in [("server", "s" * 40), ("project", "p" * 80), ("root", "r" * 500)]:
        filled = filled.replace("{{" + placeholder + "}}", text)
    assert len(filled) < 2048


def test_the_builders_role_fits_into_one_argument_of_a_windows_command_line() -> None:
    joined = " ".join(template("roles/builder.md").split())
    assert '"' not in joined
    assert len(joined) < 2000
    assert "NEEDS_CLARIFICATION:" in joined


@pytest.mark.parametrize("role", ["architect", "developer", "tester"])
def test_the_text_of_a_role_is_short_and_fits_into_an_argument(role: str) -> None:
    joined = " ".join(template(f"roles/{role}.md").split())
    assert '"' not in joined
    assert len(joined) < 1500
    for part in (
        f"Your role in this task: {role}",
        "Goal:",
        "Constraints:",
        "Output:",
        "look back:",
        "Handoff:",
    ):
        assert part in joined  # fmt: skip


def test_the_block_for_claude_md_holds_no_marker_of_its_own() -> None:
    text = put("# Mine\n", template("CLAUDE.md"), HTML, "CLAUDE.md")
    assert remove(put(text, template("CLAUDE.md"), HTML, "CLAUDE.md"), HTML, "f") == "# Mine\n"


def test_the_readme_has_the_sections_and_one_dated_entry() -> None:
    text = template("README.template.md").replace("{{date}}", "2026-07-23")
    sections = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert sections == ["Overview", "Architecture / Components", "Setup", "Recent Changes"]
    assert re.findall(r"^- \d{4}-\d\d-\d\d: \w", text.split("## Recent Changes")[1], re.MULTILINE)


# The Builder's settings


def settings_for(root: str) -> dict[str, Any]:
    return builder_settings(template("builder.settings.json"), Path(root), "/bin/loop-hook")


def test_every_path_rule_is_an_absolute_edit_rule_or_a_read_rule_of_the_home_folder() -> None:
    permissions = settings_for("/p/app")["permissions"]
    rules = [*permissions["allow"], *permissions["deny"]]
    assert not [rule for rule in rules if rule.startswith(("Write", "NotebookEdit"))]
    for rule in rules:
        assert re.fullmatch(
            r"Read|Bash\(.+\)|Read\(~/\..+\)|Edit\(//p/app/(\.(ai|claude|git)/)?\*\*\)", rule
        ), rule


def test_what_the_builder_may_do_is_this_and_no_more() -> None:
    assert settings_for("/p/app")["permissions"]["allow"] == [
        "Edit(//p/app/**)",
        "Read",
        "Bash(git add *)",
        "Bash(git commit *)",
        "Bash(git status *)",
        "Bash(git diff)",
    ]


def test_the_hooks_call_the_given_command_and_are_bounded() -> None:
    settings = builder_settings(template("builder.settings.json"), Path("/p"), "'/a b/loop-hook'")
    hooks = settings["hooks"]
    assert list(hooks) == ["PreToolUse", "Stop"]
    assert hooks["PreToolUse"][0]["matcher"] == "StructuredOutput"
    assert hooks["PreToolUse"][0]["hooks"] == [
        {"type": "command", "command": "'/a b/loop-hook' report", "timeout": 20}
    ]
    assert hooks["Stop"][0]["hooks"][0]["command"] == "'/a b/loop-hook' stop"


def test_a_path_in_a_rule_names_that_folder_only() -> None:
    assert rule_path(Path("/p/my app")) == "/p/my app"
    assert rule_path(Path("/p/[a]*")) == r"/p/\[a\]\*"
    assert rule_path(PureWindowsPath(r"C:\Users\First Last\app")) == "/c/Users/First Last/app"


@pytest.mark.parametrize("folder", ["what?", "back\\slash", "line\nbreak"])
def test_a_folder_that_no_rule_can_name_is_refused_in_one_line(folder: str) -> None:
    with pytest.raises(LoopError, match="rename it") as error:
        rule_path(Path("/p", folder))
    assert "\n" not in str(error.value)
