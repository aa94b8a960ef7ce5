from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from loop.builder.permissions import (
    approve,
    approved,
    approved_command_file,
    approved_file,
    check_command,
    difference,
    forget,
    request_of,
    settings_for,
)
from loop.errors import NotReady
from loop.store.paths import Project
from loop.store.project_files import load_config

RULES = b'{"permissions": {"allow": ["Read"]}}\n'


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_what_is_passed_on_is_a_copy_outside_the_project(
    project: Project, state_home: Path
) -> None:
    project.builder_settings.write_bytes(RULES)
    copy = approve(project)
    assert approved(project) == copy == approved_file(project)
    assert copy.read_bytes() == RULES
    assert copy.is_relative_to(state_home)
    assert not copy.is_relative_to(project.root)
    assert approve(project) == copy


def test_nothing_runs_before_the_rules_are_approved(project: Project) -> None:
    project.builder_settings.write_bytes(RULES)
    with pytest.raises(NotReady, match="not approved yet: run `loop init`") as error:
        approved(project)
    assert error.value.kind == "permissions"


def test_rules_that_changed_since_stop_until_they_are_approved(project: Project) -> None:
    project.builder_settings.write_bytes(RULES)
    approve(project)
    project.builder_settings.write_bytes(RULES.replace(b'"Read"', b'"Read", "Bash"'))
    with pytest.raises(NotReady, match=r"asks for more .* `loop allow --review`"):
        approved(project)
    approve(project)
    assert b"Bash" in approved(project).read_bytes()


def test_a_project_s_file_that_is_gone_leaves_what_was_approved(project: Project) -> None:
    project.builder_settings.write_bytes(RULES)
    copy = approve(project)
    project.builder_settings.unlink()
    assert approved(project) == copy


@pytest.mark.parametrize("data", [None, b"", b"{", b"[]", b"\xff"])
def test_what_are_no_rules_can_not_be_approved(project: Project, data: bytes | None) -> None:
    if data is not None:
        project.builder_settings.write_bytes(data)
    with pytest.raises(NotReady, match=r"\.ai/builder\.settings\.json"):
        approve(project)
    assert not approved_file(project).exists()


def test_two_projects_of_one_name_have_rules_of_their_own(project: Project, tmp_path: Path) -> None:
    other = Project(tmp_path / "elsewhere" / project.name)
    assert approved_file(other) != approved_file(project)


def test_forgetting_takes_the_copy_away(project: Project) -> None:
    project.builder_settings.write_bytes(RULES)
    copy = approve(project)
    forget(project)
    forget(project)
    assert not copy.parent.exists()
    assert project.builder_settings.read_bytes() == RULES


@pytest.mark.parametrize(
    "asked",
    [
        '"builder": {"command": "/evil"}',
        '"builder": {"extra_args": ["--allowedTools=Bash"]}',
        '"verify": {"test_command": "/evil"}',
        '"verify": {"lint_command": "/evil"}',
    ],
)
def test_what_the_settings_want_executed_counts_only_when_approved(
    project: Project, asked: str
) -> None:
    project.builder_settings.write_bytes(RULES)
    approve(project)
    check_command(project, load_config(project))
    project.config.write_text(f"{{{asked}}}")
    with pytest.raises(NotReady, match="not what was approved") as error:
        check_command(project, load_config(project))
    assert error.value.kind == "permissions"
    approve(project)
    check_command(project, load_config(project))


def test_settings_that_go_back_to_the_defaults_need_no_approval(project: Project) -> None:
    project.builder_settings.write_bytes(RULES)
    project.config.write_text('{"builder": {"command": "/opt/claude"}}')
    approve(project)
    project.config.write_text('{"builder": {"max_turns": 5}}')
    check_command(project, load_config(project))
    approve(project)
    assert not approved_command_file(project).exists()


def settings(**permissions: list[str]) -> bytes:
    return json.dumps({"permissions": permissions, "hooks": {}}).encode()


def test_what_asks_for_less_counts_at_once_and_more_again_waits(project: Project) -> None:
    project.builder_settings.write_bytes(settings(allow=["Read", "A"], deny=["B"]))
    copy = approve(project)
    project.builder_settings.write_bytes(settings(allow=["A"], deny=["B", "C"], ask=["D"]))
    narrower = approved(project)
    assert narrower != copy
    assert json.loads(narrower.read_bytes())["permissions"] == {
        "allow": ["A"], "deny": ["B", "C"], "ask": ["D"],
    }  # fmt: skip
    # Nothing was approved by that: the whole is still within the approval.
    project.builder_settings.write_bytes(settings(allow=["Read", "A"], deny=["B"]))
    assert approved(project) == copy
    approve(project)
    project.builder_settings.write_bytes(settings(allow=["Read", "A"]))
    with pytest.raises(NotReady, match="asks for more"):
        approved(project)


@pytest.mark.parametrize(
    "asked",
    [
        {"permissions": {"allow": ["Read", "X"]}},
        {"permissions": {"allow": ["Read"], "defaultMode": "bypassPermissions"}},
        {"permissions": {"allow": ["Read"], "additionalDirectories": ["/"]}},
        {"permissions": {"allow": "Read"}},
        {"permissions": {"allow": ["Read"]}, "env": {"A": "b"}},
        {"permissions": {"allow": ["Read"]}, "hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}},
        {"permissions": {"allow": ["Read"]}, "enableAllProjectMcpServers": True},
    ],
    ids=str,
)
def test_whatever_else_changes_asks_for_more(project: Project, asked: dict[str, Any]) -> None:
    project.builder_settings.write_bytes(RULES)
    approve(project)
    project.builder_settings.write_text(json.dumps(asked))
    with pytest.raises(NotReady, match="asks for more"):
        approved(project)


def test_the_spelling_of_the_json_and_the_order_of_rules_are_no_change(project: Project) -> None:
    project.builder_settings.write_bytes(settings(allow=["A", "B"]))
    copy = approve(project)
    project.builder_settings.write_text(
        '{"hooks": {},\n "permissions": {"allow": ["\\u0042", "A"]}}\n'
    )
    assert approved(project) == copy


PINNED = [".mcp.json", ".claude/settings.json", ".claude/settings.local.json",
          ".claude/agents/deep/a.md", "../.mcp.json", "../.claude/settings.json",
          "../.claude/agents/a.md"]  # fmt: skip


@pytest.mark.parametrize("name", PINNED)
def test_a_file_that_claude_code_loads_stops_when_it_appears_changes_or_vanishes(
    project: Project, name: str
) -> None:
    (project.root.parent / ".git").mkdir()
    project.builder_settings.write_bytes(RULES)
    path = project.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    approve(project)
    copy = approved(project)

    path.write_bytes(b"one \xff")
    with pytest.raises(NotReady, match=f"^{re.escape(name)} appeared since") as error:
        approved(project)
    assert error.value.kind == "permissions"
    assert "`loop allow --review`" in str(error.value)
    approve(project)
    assert approved(project) == copy

    path.write_bytes(b"two")
    with pytest.raises(NotReady, match="changed since"):
        approved(project)
    path.unlink()
    with pytest.raises(NotReady, match="vanished since"):
        approved(project)
    path.write_bytes(b"one \xff")
    assert approved(project) == copy


def test_an_agent_behind_a_linked_folder_is_looked_at_too(project: Project) -> None:
    project.builder_settings.write_bytes(RULES)
    hidden = project.root / "docs"
    hidden.mkdir()
    (hidden / "a.md").write_text("one")
    agents = project.root / ".claude" / "agents"
    agents.mkdir(parents=True)
    approve(project)
    (agents / "linked").symlink_to(hidden)
    (hidden / "round").symlink_to(agents)
    with pytest.raises(NotReady, match=r"agents/linked/a\.md appeared"):
        approved(project)
    approve(project)
    (hidden / "a.md").write_text("two")
    with pytest.raises(NotReady, match=r"agents/linked/a\.md changed"):
        approved(project)


def test_a_link_to_everything_stops_instead_of_being_read(project: Project) -> None:
    project.builder_settings.write_bytes(RULES)
    approve(project)
    agents = project.root / ".claude" / "agents"
    agents.mkdir(parents=True)
    (agents / "all").symlink_to("/")
    with pytest.raises(NotReady, match=r"more than 1000 folders below .*agents"):
        approved(project)


def test_above_the_repository_only_servers_are_looked_at(project: Project) -> None:
    (project.root / ".git").mkdir()
    project.builder_settings.write_bytes(RULES)
    copy = approve(project)
    above = project.root.parent / ".claude"
    above.mkdir()
    (above / "settings.json").write_text("{}")
    assert approved(project) == copy


def test_the_person_s_own_settings_may_change_when_home_is_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pathlib.Path.home", lambda: tmp_path)
    (tmp_path / ".git").mkdir()
    project = Project(tmp_path / "app")
    project.ai.mkdir(parents=True)
    project.builder_settings.write_bytes(RULES)
    copy = approve(project)
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text("{}")
    assert approved(project) == copy


def test_a_file_that_can_not_be_read_stops_too(project: Project) -> None:
    project.builder_settings.write_bytes(RULES)
    approve(project)
    loop = project.root / ".mcp.json"
    loop.symlink_to(loop)
    with pytest.raises(NotReady, match=r"can't read .*\.mcp\.json"):
        approved(project)


def test_what_was_seen_is_approved_and_not_what_came_meanwhile(project: Project) -> None:
    project.builder_settings.write_bytes(RULES)
    seen = request_of(project)
    project.builder_settings.write_bytes(RULES.replace(b'"Read"', b'"Read", "Bash"'))
    (project.root / ".mcp.json").write_text("{}")
    assert approve(project, seen).read_bytes() == RULES
    assert {c.what for c in difference(project, request_of(project)).rules} == {"Bash"}
    assert [f.path for f in difference(project, request_of(project)).files] == [".mcp.json"]


def test_a_role_gets_a_file_of_its_own_beside_the_copy(project: Project) -> None:
    everywhere = f"Edit(/{project.root}/**)"
    project.builder_settings.write_bytes(
        settings(allow=[everywhere, "Read", "Bash(git add *)", "Bash(npm *)", "Bash", "mcp__x",
                        "Bash(git mv *)", "Bash(git restore .)", "Bash(git:*)"])
    )  # fmt: skip
    copy = approve(project)
    root = str(project.root)
    for developer in (None, "developer", "designer"):
        assert settings_for(copy, root, developer) == copy
    tester, architect = (settings_for(copy, root, role) for role in ("tester", "architect"))
    assert {tester.parent, architect.parent} == {copy.parent}
    allowed = json.loads(tester.read_bytes())["permissions"]["allow"]
    assert f"Edit(/{root}/**/tests/**)" in allowed
    assert everywhere not in allowed
    assert [rule for rule in allowed if not rule.startswith("Edit")] == ["Read", "Bash(git add *)"]
    given = json.loads(architect.read_bytes())["permissions"]
    assert given == {"allow": ["Read"], "deny": [everywhere]}
    forget(project)
    assert not copy.parent.exists()


def test_a_tester_edits_nothing_where_nobody_may(project: Project) -> None:
    project.builder_settings.write_bytes(settings(allow=["Read", "Edit(src/**)"]))
    tester = settings_for(approve(project), str(project.root), "tester")
    assert json.loads(tester.read_bytes())["permissions"]["allow"] == ["Read"]
