"""`loop init`: what it makes, what it leaves alone, what it refuses."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loop.builder.permissions import (
    approve,
    approved,
    approved_file,
    check_command,
    difference,
    request_of,
)
from loop.core.rules import object_to
from loop.errors import LoopError, NotReady
from loop.setup.builder_rules import hook_command
from loop.setup.init import initialise
from loop.setup.interpreter import why_short_lived
from loop.setup.presets import PRESETS, preset_rules
from loop.store.identity import root_mismatch
from loop.store.project_files import load_config
from tests.setup.person import NOW, Person, step, tree

# What is made


def test_an_empty_folder_becomes_a_project(person: Person) -> None:
    person.has_desktop()
    report = person.init()

    assert report.project.root == person.root
    assert [folder.is_dir() for folder in report.project.folders()] == [True] * 8
    assert json.loads(report.project.config.read_text()) == {}
    settings = json.loads(report.project.builder_settings.read_text())
    assert settings["permissions"]["allow"][0] == f"Edit(/{person.root}/**)"
    assert settings["hooks"]["Stop"][0]["hooks"][0]["command"] == (
        f"{shlex.quote(str(person.python))} -I -m loop.hooks.entry stop"
    )
    assert "`feat(ID): TITLE`" in (person.root / "CLAUDE.md").read_text()
    assert "- 2026-07-23: " in (person.root / "README.md").read_text()
    assert (person.root / ".gitignore").read_text().splitlines() == [
        "# loop:begin",
        ".ai/*",
        "!.ai/config.json",
        "!.ai/roles/",
        "# loop:end",
    ]
    assert not (person.root / ".claude").exists()
    assert report.server == "architect_watcher_app"
    assert json.loads(person.desktop.read_text())["mcpServers"][report.server] == {
        "command": str(person.python),
        "args": ["-m", "loop", "serve", "--project", str(person.root)],
    }
    assert f"`{report.server}`" in report.instructions
    assert str(person.root) in report.instructions


def test_a_second_run_changes_nothing_and_says_so(person: Person) -> None:
    person.git("init", "--quiet")
    person.has_desktop('{"mcpServers": {"other": {"command": "x"}}}\n')
    person.init()
    before = tree(person.root), tree(person.home)
    again = person.init()
    assert {step.what: step.outcome for step in again.steps} == dict.fromkeys(
        (step.what for step in again.steps), "unchanged"
    )
    assert (tree(person.root), tree(person.home)) == before


def test_running_it_approves_the_rules_and_names_the_approved_copy(person: Person) -> None:
    report = person.init()
    copy = approved(report.project)
    assert step(report, "approved rules").where == str(copy)
    assert step(report, "approved rules").outcome == "created"
    assert copy.read_bytes() == report.project.builder_settings.read_bytes()
    assert not copy.is_relative_to(person.root)


def test_a_later_run_approves_no_rules_that_ask_for_more(person: Person) -> None:
    project = person.init().project
    copy = approved_file(project).read_bytes()
    text = project.builder_settings.read_text()
    project.builder_settings.write_text(text.replace('"Bash(git diff)"', '"Bash(touch x)"'))
    report = person.init(python=Path("/new place/python"))
    told = step(report, "approved rules")
    assert told.outcome == "kept"
    assert "Bash(touch x)" in (told.note or "")
    assert "`loop allow --review`" in (told.note or "")
    assert approved_file(project).read_bytes() == copy
    with pytest.raises(NotReady, match="asks for more"):
        approved(project)


def test_a_later_run_takes_over_rules_that_ask_for_less(person: Person) -> None:
    project = person.init().project
    text = project.builder_settings.read_text()
    project.builder_settings.write_text(text.replace('      "Bash(git commit *)",\n', ""))
    assert step(person.init(), "approved rules").outcome == "updated"
    project.builder_settings.write_text(text)
    assert step(person.init(), "approved rules").outcome == "kept"


def test_a_later_run_does_not_approve_files_that_came_since(person: Person) -> None:
    project = person.init().project
    (person.root / ".mcp.json").write_text("{}")
    person.init()
    with pytest.raises(NotReady, match=r"\.mcp\.json appeared"):
        approved(project)


def test_a_later_run_approves_no_command_of_the_settings(person: Person) -> None:
    project = person.init().project
    project.config.write_text('{"verify": {"test_command": "/theirs"}}')
    told = step(person.init(), "approved rules")
    assert told.outcome == "kept"
    assert "verify.test_command" in (told.note or "")
    with pytest.raises(NotReady, match="not what was approved"):
        check_command(project, load_config(project))
    # Nor does a move.
    new = person.root.with_name("renamed")
    person.root.rename(new)
    assert step(person.init(new), "approved rules").outcome == "kept"


def test_the_first_run_says_what_it_approves_beyond_our_own_rules(person: Person) -> None:
    (person.root / ".mcp.json").write_text("{}")
    (person.root / ".ai").mkdir()
    command = "/theirs " + "harmless " * 20 + "; /evil"
    (person.root / ".ai" / "config.json").write_text(
        json.dumps({"verify": {"test_command": command}})
    )
    allowed = ", ".join(f'"Bash(touch {name})"' for name in "abcdefx")
    (person.root / ".ai" / "builder.settings.json").write_text(
        f'{{"permissions": {{"allow": [{allowed}]}}, "hooks": {{"Stop": [{{"hooks": '
        '[{"type": "command", "command": "/theirs"}]}]}}'
    )
    note = step(person.init(), "approved rules").note or ""
    # However many there are and however long they are.
    for part in ("Bash(touch x)", "Stop: /theirs", ".mcp.json", "; /evil"):
        assert part in note
    assert approved(person.project)


def test_a_moved_project_keeps_what_was_approved_and_no_more(person: Person) -> None:
    project = person.init().project
    text = project.builder_settings.read_text()
    project.builder_settings.write_text(text.replace('"Bash(git diff)"', '"Bash(touch x)"'))
    new = person.root.with_name("renamed")
    person.root.rename(new)
    report = person.init(new)
    told = step(report, "approved rules")
    assert told.outcome == "kept"
    assert "Bash(touch x)" in (told.note or "")
    found = difference(report.project, request_of(report.project))
    assert [c.what for c in found.rules if c.more] == ["Bash(touch x)"]


def test_what_came_into_a_moved_project_is_not_approved_by_the_move(person: Person) -> None:
    person.init()
    new = person.root.with_name("renamed")
    person.root.rename(new)
    (new / ".mcp.json").write_text("{}")
    project = person.init(new).project
    with pytest.raises(NotReady, match=r"\.mcp\.json appeared"):
        approved(project)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_allowed_and_approved_by_naming_it(person: Person, name: str) -> None:
    first = initialise(
        person.root, env=person.env, python=person.python, now=NOW, platform="linux",
        presets=[name, "node"],
    )  # fmt: skip
    rules = json.loads(approved(first.project).read_text())["permissions"]["allow"]
    assert set(preset_rules([name])) < set(rules)
    assert len(rules) == len(set(rules))
    assert step(first, "presets").outcome == "updated"
    again = initialise(
        person.root, env=person.env, python=person.python, now=NOW, platform="linux",
        presets=[name],
    )  # fmt: skip
    assert step(again, "presets").outcome == "unchanged"


def test_a_preset_approves_nothing_else(person: Person) -> None:
    project = person.init().project
    text = project.builder_settings.read_text()
    project.builder_settings.write_text(text.replace('"Bash(git diff)"', '"Bash(touch x)"'))
    initialise(person.root, env=person.env, python=person.python, now=NOW, platform="linux",
               presets=["node"])  # fmt: skip
    copy = approved_file(project).read_text()
    assert "Bash(npm test)" in copy
    assert "touch" not in copy


@pytest.mark.parametrize("name", PRESETS)
def test_every_rule_of_a_preset_is_one_exact_command_that_loop_allow_takes(name: str) -> None:
    for rule in preset_rules([name]):
        assert object_to(rule, "/p/app") is None
        assert "*" not in rule


def test_new_texts_can_be_read_by_everybody_who_could_read_other_new_files(person: Person) -> None:
    old = os.umask(0o022)
    try:
        person.init()
    finally:
        os.umask(old)
    for name in ("CLAUDE.md", "README.md", ".gitignore"):
        assert stat.S_IMODE((person.root / name).stat().st_mode) == 0o644, name


# What is the person's


def test_the_persons_own_texts_keep_every_byte(person: Person) -> None:
    claude_md = "\ufeff# Mine\r\nWith CRLF, and Größe".encode() + b"\xe9\r\n"
    (person.root / "CLAUDE.md").write_bytes(claude_md)
    (person.root / "Readme.md").write_bytes(b"mine")
    (person.root / ".gitignore").write_bytes(b"node_modules")
    report = person.init()

    text = (person.root / "CLAUDE.md").read_bytes()
    assert text.startswith(claude_md)
    assert text.count(b"\n") == text.count(b"\r\n")
    assert (person.root / ".gitignore").read_bytes().startswith(b"node_modules\n\n# loop:begin")
    assert [p.name for p in person.root.iterdir() if p.name.lower() == "readme.md"] == ["Readme.md"]
    assert (person.root / "Readme.md").read_bytes() == b"mine"
    assert step(report, "README.md").outcome == "unchanged"


def test_a_readme_in_another_format_is_not_put_in_the_shade_by_ours(person: Person) -> None:
    (person.root / "README.rst").write_text("mine")
    report = person.init()
    assert not (person.root / "README.md").exists()
    assert step(report, "README.md").outcome == "kept"
    assert step(report, "README.md").note


def test_the_persons_settings_and_rules_stay_and_only_our_hooks_are_made_current(
    person: Person,
) -> None:
    project = person.init().project
    project.config.write_text('{"commit_prefix": "task"}')
    settings = json.loads(project.builder_settings.read_text())
    settings["permissions"]["allow"].append("Bash(npm test *)")
    settings["permissions"]["deny"].remove("Bash(curl *)")
    own_hook = {"type": "command", "command": "/mine"}
    settings["hooks"]["Stop"][0]["hooks"].insert(0, own_hook)
    settings["hooks"]["Stop"][0]["hooks"][1]["timeout"] = 99
    del settings["hooks"]["PreToolUse"]
    project.builder_settings.write_text(json.dumps(settings, indent=7))
    approve(project)

    report = person.init(python=Path("/new place/python"))
    after = json.loads(project.builder_settings.read_text())
    assert after["permissions"] == settings["permissions"]
    assert '\n       "permissions"' in project.builder_settings.read_text()
    command = "'/new place/python' -I -m loop.hooks.entry"
    assert after["hooks"]["Stop"] == [
        {"hooks": [own_hook, {"type": "command", "command": f"{command} stop", "timeout": 99}]}
    ]
    assert after["hooks"]["PreToolUse"][0]["hooks"][0]["command"] == f"{command} report"
    assert step(report, "Builder's rules").outcome == "updated"
    assert step(report, "approved rules").outcome == "updated"
    assert approved(project).read_bytes() == project.builder_settings.read_bytes()
    assert json.loads(project.config.read_text()) == {"commit_prefix": "task"}
    assert "`task(ID): TITLE`" in (person.root / "CLAUDE.md").read_text()


def test_a_hook_of_ours_that_stands_there_twice_is_left_once(person: Person) -> None:
    project = person.init().project
    settings = json.loads(project.builder_settings.read_text())
    settings["hooks"]["Stop"] *= 2
    settings["hooks"]["Stop"][0]["hooks"] *= 2
    project.builder_settings.write_text(json.dumps(settings))
    person.init()
    hooks = json.loads(project.builder_settings.read_text())["hooks"]["Stop"]
    assert [len(group["hooks"]) for group in hooks] == [1]


def test_a_claude_md_that_is_a_link_to_elsewhere_is_left_alone(
    person: Person, tmp_path: Path
) -> None:
    shared = tmp_path / "shared.md"
    shared.write_text("for all my projects")
    (person.root / "CLAUDE.md").symlink_to(shared)
    report = person.init()
    assert shared.read_text() == "for all my projects"
    assert step(report, "CLAUDE.md").outcome == "skipped"


# Git


def ignored(person: Person, *paths: str, cwd: Path | None = None) -> list[str]:
    """Those of the paths that the real git ignores."""
    listed = person.git("status", "--porcelain", "--ignored", "-uall", cwd=cwd).splitlines()
    names = {line[3:] for line in listed if line.startswith("!! ")}
    return [path for path in paths if path in names]


@pytest.mark.parametrize("below", ["", "packages/app"])
def test_git_sees_the_settings_and_roles_and_nothing_else_of_ours(
    person: Person, below: str
) -> None:
    person.git("init", "--quiet")
    root = person.root / below
    root.mkdir(parents=True, exist_ok=True)
    report = person.init(root)
    for name in ("queue/0001.json", "logs/a.log", "roles/tester.md", "paused.json"):
        (root / ".ai" / name).write_text("x")
    prefix = f"{below}/.ai/" if below else ".ai/"
    names = ["config.json", "roles/tester.md", "queue/0001.json", "logs/a.log", "paused.json",
             "builder.settings.json", "state/project.json"]  # fmt: skip
    paths = [prefix + name for name in names]
    assert ignored(person, *paths) == paths[2:]
    untracked = person.git("status", "--porcelain", "-uall")
    assert paths[0] in untracked
    assert paths[1] in untracked
    assert step(report, "git").where == str(person.root)


@pytest.mark.parametrize("line", [".ai/", ".ai", "/.ai/", "**/.ai/"])
@pytest.mark.parametrize("in_git", [True, False])
def test_a_line_that_ignores_all_of_ai_is_kept_and_told(
    person: Person, line: str, in_git: bool
) -> None:
    if in_git:
        person.git("init", "--quiet")
    (person.root / ".gitignore").write_text(f"build/\n{line}\n")
    report = person.init()
    assert (person.root / ".gitignore").read_text() == f"build/\n{line}\n"
    assert step(report, ".gitignore").outcome == "kept"
    assert step(report, ".gitignore").note


def test_outside_of_git_it_says_that_nothing_can_be_undone(person: Person) -> None:
    told = step(person.init(), "git")
    assert told.outcome == "skipped"
    assert "git init" in (told.note or "")


# Claude Desktop


def test_without_a_desktop_it_says_how_to_go_on(person: Person) -> None:
    report = person.init()
    assert report.server is None
    told = step(report, "server in Claude Desktop")
    assert told.outcome == "skipped"
    for way in ("loop init", "loop work", "claude mcp add architect_watcher_app -- "):
        assert way in (told.note or "")
    assert not person.desktop.parent.exists()
    assert "`architect_watcher_app`" in report.instructions


def test_the_person_is_told_to_quit_the_desktop_and_where_the_old_file_is(person: Person) -> None:
    person.has_desktop('{"zoom": 1}')
    told = step(person.init(), "server in Claude Desktop")
    assert told.where == str(person.desktop)
    assert "quit it fully" in (told.note or "")
    (backup,) = person.desktop.parent.glob("*.loop-backup")
    assert str(backup) in (told.note or "")


def test_a_desktop_file_that_cant_be_read_stops_only_that_step(person: Person) -> None:
    person.has_desktop('{"mcpServers": {},}')
    report = person.init()
    assert report.server is None
    assert step(report, "server in Claude Desktop").outcome == "skipped"
    assert "mend the file" in (step(report, "server in Claude Desktop").note or "")
    assert person.desktop.read_text() == '{"mcpServers": {},}'
    assert (person.root / "CLAUDE.md").exists()


def windows(person: Person, *packages: str) -> tuple[dict[str, str], list[Path]]:
    """The environment of a Windows machine, and the folders of its Claude Desktops."""
    local, roaming = person.home / "Local", person.home / "Roaming"
    made = [roaming / "Claude"]
    made += [local / "Packages" / name / "LocalCache" / "Roaming" / "Claude" for name in packages]
    for folder in made:
        folder.mkdir(parents=True)
    env = {"LOCALAPPDATA": str(local), "APPDATA": str(roaming), "USERPROFILE": str(person.home)}
    return person.env | env, made


def test_on_windows_the_stores_app_comes_before_the_plain_folder(person: Person) -> None:
    env, (plain, package) = windows(person, "Claude_abc")
    report = initialise(person.root, env=env, python=person.python, now=NOW, platform="win32")
    assert report.server is not None
    assert [path.name for path in package.iterdir()] == ["claude_desktop_config.json"]
    assert list(plain.iterdir()) == []


def test_with_several_store_apps_none_is_written_and_all_are_named(person: Person) -> None:
    env, folders = windows(person, "Claude_abc", "Claude_def")
    report = initialise(person.root, env=env, python=person.python, now=NOW, platform="win32")
    assert report.server is None
    assert [list(folder.iterdir()) for folder in folders] == [[], [], []]
    told = step(report, "server in Claude Desktop")
    assert told.outcome == "skipped"
    for folder in folders[1:]:
        assert str(folder / "claude_desktop_config.json") in (told.note or "")


def test_two_projects_of_one_name_get_servers_of_their_own(person: Person, tmp_path: Path) -> None:
    person.has_desktop()
    other = tmp_path / "elsewhere" / "app"
    other.mkdir(parents=True)
    first, second = person.init(), person.init(other)
    assert first.server != second.server
    servers = json.loads(person.desktop.read_text())["mcpServers"]
    assert [servers[r.server]["args"][-1] for r in (first, second) if r.server] == [
        str(person.root),
        str(other),
    ]


# Moved and copied projects


def test_a_renamed_project_keeps_its_server_and_its_rules_follow(person: Person) -> None:
    person.has_desktop()
    first = person.init()
    new = person.root.with_name("renamed [x]")
    person.root.rename(new)
    assert root_mismatch(type(first.project)(new)) is None

    report = person.init(new)
    assert report.server == first.server
    servers = json.loads(person.desktop.read_text())["mcpServers"]
    assert servers[report.server]["args"][-1] == str(new)
    assert len(servers) == 1
    permissions = json.loads(report.project.builder_settings.read_text())["permissions"]
    written = json.dumps(permissions)
    assert f"Edit(/{person.root}/" not in written
    assert "renamed \\\\[x\\\\]/.ai/**)" in written


def test_a_copied_project_is_noticed_and_init_makes_it_one_of_its_own(person: Person) -> None:
    person.has_desktop()
    first = person.init()
    copy = person.root.with_name("copy")
    shutil.copytree(person.root, copy)
    project = type(first.project)(copy)
    assert root_mismatch(project) == str(person.root)
    assert root_mismatch(first.project) is None

    report = person.init(copy)
    assert root_mismatch(project) is None
    assert str(person.root) in (step(report, "place").note or "")
    assert report.server != first.server
    assert f"Edit(/{person.root}/" not in project.builder_settings.read_text()
    assert f"Edit(/{person.root}/" in first.project.builder_settings.read_text()
    assert len(json.loads(person.desktop.read_text())["mcpServers"]) == 2


# The interpreter


def test_an_interpreter_that_will_not_stay_is_named(person: Person, tmp_path: Path) -> None:
    def interpreter(environment: Path) -> Path:
        environment.mkdir(parents=True)
        (environment / "pyvenv.cfg").touch()
        return environment / "bin" / "python"

    root, env = person.root, {"TMPDIR": "/elsewhere"}
    local = interpreter(root / "tools")
    assert "of this project" in (why_short_lived(local, root, env) or "")
    assert "temporary" in (why_short_lived(Path("/elsewhere/x/bin/python"), root, env) or "")
    cache = Path("/home/me/.cache/uv/archive-v0/abc/bin/python")
    assert "cache" in (why_short_lived(cache, root, env) or "")
    for stays in (
        "/home/me/.local/share/pipx/venvs/claude-automation-loop/bin/python",
        "/home/me/.local/share/uv/tools/claude-automation-loop/bin/python",
        "/usr/bin/python3",
    ):
        assert why_short_lived(Path(stays), root, env) is None
    note = step(person.init(python=local), "Builder's rules").note or ""
    assert str(local) in note
    assert "pipx" in note and "checkout" in note


def test_the_hooks_command_is_quoted_for_the_shell_of_the_platform() -> None:
    python = Path("/opt/my py/python3")
    assert hook_command(python, "linux") == "'/opt/my py/python3' -I -m loop.hooks.entry"
    assert hook_command(python, "win32") == '"/opt/my py/python3" -I -m loop.hooks.entry'


# What is refused


def test_what_can_be_no_project_is_refused_in_one_line_and_left_as_it_was(
    person: Person, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()
    ai_is_a_file = tmp_path / "one"
    ai_is_a_file.mkdir()
    (ai_is_a_file / ".ai").touch()
    ai_is_a_link = tmp_path / "two"
    ai_is_a_link.mkdir()
    (ai_is_a_link / ".ai").symlink_to(person.root)
    queue_is_a_link = tmp_path / "three"
    (queue_is_a_link / ".ai").mkdir(parents=True)
    (queue_is_a_link / ".ai" / "queue").symlink_to(person.root)
    odd = tmp_path / "what?"
    odd.mkdir()
    before = tree(tmp_path)
    for folder, words in {
        tmp_path / "absent": "no folder",
        file: "is not a folder",
        ai_is_a_file: "is a file",
        ai_is_a_link: "is a link",
        queue_is_a_link: "is a link",
        odd: "rename it",
        person.home: "too much",
        Path("/"): "too much",
    }.items():
        with pytest.raises(LoopError, match=words.replace("?", r"\?")) as problem:
            person.init(folder)
        assert "\n" not in str(problem.value)
    assert tree(tmp_path) == before
    assert list(person.root.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (".ai/config.json", '{"limit": {}}', "limit: unknown name"),
        (".ai/builder.settings.json", "{,}", "mend it by hand"),
        (".ai/builder.settings.json", '{"hooks": []}', "mend it by hand"),
    ],
)
def test_a_file_of_ours_that_is_damaged_is_named_before_anything_is_written(
    person: Person, name: str, content: str, words: str
) -> None:
    (person.root / ".ai").mkdir()
    (person.root / name).write_text(content)
    before = tree(person.root)
    with pytest.raises(LoopError, match=words):
        person.init()
    assert tree(person.root) == before


@contextmanager
def as_ordinary_user() -> Iterator[None]:
    """Root may write anywhere; be nobody for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.name == "nt", reason="folders have no such mode there")
def test_a_folder_that_cant_be_written_is_an_error_of_one_line(person: Person) -> None:
    # Not pytest's own folder: only its owner may enter that one.
    folder = Path(tempfile.mkdtemp()).resolve()
    try:
        folder.chmod(0o555)
        with as_ordinary_user(), pytest.raises(LoopError, match="no permission") as problem:
            person.init(folder)
        assert str(folder) in str(problem.value)
        assert list(folder.iterdir()) == []
    finally:
        folder.chmod(0o755)
        folder.rmdir()


def test_a_text_that_is_not_utf_8_is_refused_and_kept(person: Person) -> None:
    content = "# Mine\n".encode("utf-16")
    (person.root / "CLAUDE.md").write_bytes(content)
    with pytest.raises(LoopError, match="UTF-16"):
        person.init()
    assert (person.root / "CLAUDE.md").read_bytes() == content
