"""`loop doctor`: a healthy project is told to be one, and each fault with what mends it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest

from loop.builder.permissions import approve
from loop.setup.doctor import Finding, examine
from loop.setup.examine_builder import dead_rule
from loop.store.drive import filesystem_of
from loop.store.journal import transition
from loop.store.locks import FileLock
from loop.store.paths import Project
from loop.store.project_files import this_process
from loop.store.shift import Shift, put_shift
from tests.claude_binary import find_claude
from tests.setup.person import Person, tree


def claude_says(folder: Path, words: str, exit_code: int = 0) -> Path:
    """A `claude` that answers `--version` so."""
    path = folder / "claude"
    path.write_text(f"#!/bin/sh\necho '{words}'\nexit {exit_code}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def healthy(person: Person, installed: Path, tmp_path: Path) -> Person:
    """A person whose project, git, Claude Code and Claude Desktop are all as they should be."""
    person.git("init", "--quiet")
    person.has_desktop()
    usual = person.home / ".local" / "bin"
    usual.mkdir(parents=True)
    claude_says(usual, "2.1.332 (Claude Code)")
    person.env["PATH"] = f"{usual}{os.pathsep}{os.defpath}"
    person = Person(person.home, person.root, installed, person.env)
    person.init()
    return person


def look(person: Person, **env: str) -> list[Finding]:
    return examine(person.project, env=person.env | env, platform="linux")


def faults(person: Person, **env: str) -> list[Finding]:
    return [finding for finding in look(person, **env) if not finding.ok]


def only_fault(person: Person, **env: str) -> Finding:
    """The one finding that is not as it should be."""
    (fault,) = faults(person, **env)
    assert "\n" not in fault.what
    assert fault.mend
    return fault


def test_a_healthy_project_has_no_faults_and_nothing_is_changed(healthy: Person) -> None:
    before = tree(healthy.root), tree(healthy.home)
    findings = look(healthy)
    assert [finding for finding in findings if not finding.ok] == []
    told = "\n".join(finding.what for finding in findings)
    for words in (
        f"Python {sys.version_info[0]}.{sys.version_info[1]}",
        str(healthy.root),
        "Claude Code 2.1.332",
        "rules are approved",
        "our PreToolUse hook answers",
        "our Stop hook answers",
        "as architect_watcher_app",
        "nobody works the queue",
    ):
        assert words in told, words
    assert (tree(healthy.root), tree(healthy.home)) == before


def test_the_real_claude_code_is_found_and_new_enough(healthy: Person) -> None:
    healthy.project.config.write_text(json.dumps({"builder": {"command": str(find_claude())}}))
    approve(healthy.project)
    told = [finding.what for finding in look(healthy) if str(find_claude()) in finding.what]
    assert told
    assert all(what.startswith("Claude Code 2.") for what in told)


# The project


def remove_folder(person: Person) -> None:
    shutil.rmtree(person.project.completed)


def unknown_key(person: Person) -> None:
    person.project.config.write_text('{"builder": {"max_turn": 3}}')


def no_git(person: Person) -> None:
    shutil.rmtree(person.root / ".git")


def no_block(person: Person) -> None:
    (person.root / "CLAUDE.md").write_text("# Mine\n")


def damaged_block(person: Person) -> None:
    (person.root / "CLAUDE.md").write_text("<!-- loop:begin -->\n")


def ignores_nothing(person: Person) -> None:
    (person.root / ".gitignore").write_text("")


def changed_rules(person: Person) -> None:
    path = person.project.builder_settings
    path.write_text(path.read_text().replace("Bash(git diff)", "Bash(git diff *)"))


def no_rules(person: Person) -> None:
    person.project.builder_settings.unlink()


def invalid_task(person: Person) -> None:
    (person.project.invalid / "abc.json").write_text("{}")
    (person.project.invalid / "abc.json.reason").write_text("wrong name")


def paused(person: Person) -> None:
    person.project.paused.write_text(
        '{"by": "user", "reason": "at lunch", "since": "2026-07-23T10:00:00Z"}'
    )


def no_entry(person: Person) -> None:
    person.desktop.write_text('{"theme": "dark"}')


def damaged_desktop(person: Person) -> None:
    person.desktop.write_text("{,}")


def change_entry(**changes: Any) -> Callable[[Person], None]:
    def change(person: Person) -> None:
        config = json.loads(person.desktop.read_text())
        config["mcpServers"]["architect_watcher_app"] |= changes
        person.desktop.write_text(json.dumps(config))

    return change


def second_entry(person: Person) -> None:
    config = json.loads(person.desktop.read_text())
    servers = config["mcpServers"]
    servers["architect_watcher_again"] = servers["architect_watcher_app"]
    person.desktop.write_text(json.dumps(config))


def old_claude(person: Person) -> None:
    claude_says(person.home / ".local" / "bin", "2.0.14 (Claude Code)")


def broken_claude(person: Person) -> None:
    claude_says(person.home / ".local" / "bin", "2.1.332", exit_code=126)


def key_in_dotenv(person: Person) -> None:
    (person.root / ".env").write_text("A=1\nexport ANTHROPIC_API_KEY = sk-ant-SECRET\n")


@pytest.mark.parametrize(
    ("harm", "level", "what", "mend"),
    [
        (remove_folder, "error", ".ai/completed is missing", "loop init"),
        (unknown_key, "error", "builder.max_turn", "config.json"),
        (no_git, "warning", "can't be undone", "git init"),
        (no_block, "warning", "CLAUDE.md", "loop init"),
        (damaged_block, "error", "CLAUDE.md", "by hand"),
        (ignores_nothing, "warning", "does not ignore", "loop init"),
        (changed_rules, "error", "asks for more than was approved", "loop allow --review"),
        (no_rules, "error", "no .ai/builder.settings.json", "loop init"),
        (invalid_task, "warning", "abc.json", "NAME.reason"),
        (paused, "error", "at lunch", "loop resume"),
        (no_entry, "warning", "no entry for this project", "quit Claude Desktop"),
        (damaged_desktop, "error", "line 1, column", "by hand"),
        (change_entry(command="/gone/python"), "error", "/gone/python, which is gone", "loop init"),
        (change_entry(command="python3"), "error", "no absolute interpreter", "loop init"),
        (second_entry, "warning", "architect_watcher_app, architect_watcher_again", "keep one"),
        (old_claude, "error", "2.0.14", "claude update"),
        (broken_claude, "error", "does not start", "--version"),
        (key_in_dotenv, "warning", ".env of the project sets ANTHROPIC_API_KEY", "outside"),
    ],
)
def test_each_fault_is_named_with_what_mends_it(
    healthy: Person, harm: Callable[[Person], None], level: str, what: str, mend: str
) -> None:
    harm(healthy)
    fault = only_fault(healthy)
    assert fault.level == level
    assert what in fault.what
    assert mend in (fault.mend or "")
    assert "SECRET" not in fault.what


def test_a_project_folder_that_is_gone_is_the_only_thing_to_say(healthy: Person) -> None:
    shutil.rmtree(healthy.root)
    assert "is gone" in only_fault(healthy).what


def test_init_mends_a_missing_part(healthy: Person) -> None:
    for harm in (remove_folder, no_block, no_entry, ignores_nothing):
        harm(healthy)
    assert len(faults(healthy)) == 4
    healthy.init()
    assert faults(healthy) == []


def test_a_copied_project_is_told_where_it_comes_from(healthy: Person) -> None:
    copy = healthy.root.with_name("copy")
    shutil.copytree(healthy.root, copy, symlinks=True)
    there = Person(healthy.home, copy, healthy.python, healthy.env)
    told = next(f for f in faults(there) if "copied or moved" in f.what)
    assert told.level == "error"
    assert str(healthy.root) in told.what
    assert faults(healthy) == []


def test_notes_are_no_faults(healthy: Person) -> None:
    (healthy.root / "README.md").write_text("# App\n")
    healthy.desktop.unlink()
    healthy.desktop.parent.rmdir()
    assert faults(healthy) == []
    told = " ".join(f.what for f in look(healthy) if f.level == "note")
    assert "no `## Recent Changes`" in told
    assert "no Claude Desktop" in told


def test_who_works_the_queue_is_told(healthy: Person) -> None:
    lock = FileLock(healthy.project.worker_lock)
    assert lock.try_acquire()
    owner = this_process("serve", datetime(2026, 7, 23, 10, 0, tzinfo=UTC))
    lock.write(json.dumps({"pid": owner.pid, "host": owner.host,
                           "since": "2026-07-23T10:00:00Z"}).encode())  # fmt: skip
    told = [finding.what for finding in look(healthy)]
    lock.release()
    assert any(f"process {os.getpid()} on {owner.host}" in what for what in told)


# Claude Code and its keys


def test_an_absent_claude_code_is_named_with_the_places_that_were_searched(
    healthy: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    (healthy.home / ".local" / "bin" / "claude").unlink()
    # The test suite's own copy, inside an installed package, is none of the person's.
    monkeypatch.setattr("loop.builder.executable._bundled", lambda: None)
    fault = only_fault(healthy)
    assert fault.level == "error"
    assert str(healthy.home / ".local" / "bin") in fault.what
    assert "builder.command" in (fault.mend or "")


def test_a_claude_code_that_only_the_terminal_finds_is_told(
    healthy: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loop.builder.executable._bundled", lambda: None)
    (healthy.home / ".local" / "bin" / "claude").unlink()
    found = claude_says(tmp_path, "2.1.332 (Claude Code)")
    fault = only_fault(healthy, PATH=f"{tmp_path}{os.pathsep}{os.defpath}")
    assert "short PATH" in fault.what
    assert str(found) in (fault.mend or "")
    healthy.project.config.write_text(json.dumps({"builder": {"command": str(found)}}))
    approve(healthy.project)
    assert faults(healthy) == []


def test_what_was_not_approved_is_not_started_to_look_at_it(
    healthy: Person, tmp_path: Path
) -> None:
    traces = [tmp_path / "hook", tmp_path / "program"]
    pulled = json.loads(healthy.project.builder_settings.read_text())
    pulled["hooks"]["Stop"][0]["hooks"][0]["command"] = f"touch '{traces[0]}'; true loop-hook"
    healthy.project.builder_settings.write_text(json.dumps(pulled))
    program = tmp_path / "program.sh"
    program.write_text(f"#!/bin/sh\ntouch '{traces[1]}'\n")
    program.chmod(0o755)
    healthy.project.config.write_text(json.dumps({"builder": {"command": str(program)}}))
    told = [fault.what for fault in faults(healthy)]
    assert any("builder.command" in what and "approved" in what for what in told)
    assert any("asks for more than was approved" in what for what in told)
    assert not any(trace.exists() for trace in traces)


@pytest.mark.parametrize("inherit", [False, True])
def test_a_key_in_the_environment_is_told_and_never_shown(healthy: Person, inherit: bool) -> None:
    healthy.project.config.write_text(json.dumps({"builder": {"inherit_api_key": inherit}}))
    findings = look(healthy, ANTHROPIC_API_KEY="sk-ant-SECRET")
    (told,) = [finding for finding in findings if "ANTHROPIC_API_KEY" in finding.what]
    assert told.level == "note"
    assert ("does not get it" in told.what) is not inherit
    assert "SECRET" not in str(findings)


# The hooks, which are really run


def with_hook(person: Person, command: str) -> None:
    path = person.project.builder_settings
    settings = json.loads(path.read_text())
    settings["hooks"]["Stop"][0]["hooks"][0] |= {"command": command, "timeout": 1}
    path.write_text(json.dumps(settings))
    approve(person.project)


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("/gone/python -I -m loop.hooks.entry stop", "exit 127"),
        ("exit 49; loop-hook stop", "exit 49"),
        ("echo '{}'; true loop-hook stop", "interferes with an ordinary session"),
    ],
)
def test_a_hook_that_does_not_work_is_found_by_running_it(
    healthy: Person, command: str, what: str
) -> None:
    with_hook(healthy, command)
    told = [finding for finding in faults(healthy) if "hook" in finding.what]
    (fault,) = told
    assert fault.level == "error"
    assert "our Stop hook" in fault.what
    assert what in fault.what


def test_a_hook_is_tried_as_in_an_ordinary_session(
    healthy: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOP_RUN", "of somebody else")
    with_hook(healthy, 'test -z "$LOOP_RUN" || exit 3; true loop-hook stop')
    assert not [finding for finding in faults(healthy) if "hook" in finding.what]


@pytest.mark.parametrize("inside", [False, True])
def test_a_hook_is_found_sound_while_a_session_works_the_queue(
    healthy: Person, monkeypatch: pytest.MonkeyPatch, inside: bool
) -> None:
    session = "8d8cb1c5-2f0a-4a1c-9b53-30e3a0b6c0de"
    bound = Shift(session=session, pid=os.getpid(), start=1, boot="b", since=datetime.now(UTC))
    with transition(healthy.project) as t:
        put_shift(t, bound)
    if inside:
        monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", session)
    assert not [finding for finding in faults(healthy) if "hook" in finding.what]


def test_a_hook_that_hangs_is_ended_with_what_it_started(healthy: Person, tmp_path: Path) -> None:
    started = tmp_path / "started"
    with_hook(healthy, f"sleep 60 & echo $! > '{started}'; wait; loop-hook stop")
    assert any("no answer within 1 s" in finding.what for finding in faults(healthy))
    pid = int(started.read_text())
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        # In a container nobody may reap it.
        gone = psutil.wait_procs([process], timeout=5)[0]
        assert gone or process.status() == psutil.STATUS_ZOMBIE


def test_a_hook_whose_interpreter_lost_our_package_is_found(healthy: Person) -> None:
    for packages in healthy.python.parents[1].rglob("checkout.pth"):
        moved = packages.with_suffix(".away")
        packages.rename(moved)
        try:
            told = [finding.what for finding in faults(healthy)]
        finally:
            moved.rename(packages)
        assert len(told) == 2
        assert all("No module named" in what for what in told)


def test_a_hook_that_is_missing_is_told(healthy: Person) -> None:
    path = healthy.project.builder_settings
    settings = json.loads(path.read_text())
    del settings["hooks"]["PreToolUse"]
    path.write_text(json.dumps(settings))
    assert any("our PreToolUse hook is missing" in finding.what for finding in faults(healthy))


# Rules that do not mean what they say


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("Write(//p/app/**)", "Edit(//p/app/**)"),
        ("NotebookEdit(src/**)", "Edit(src/**)"),
        ("Edit(/p/app/**)", "write `Edit(//p/app/**)`"),
        ("Read(/etc/passwd)", "write `Read(//etc/passwd)`"),
        (r"Edit(C:\app\**)", "backslashes"),
        (r"Edit(//c/app\src/**)", "backslashes"),
    ],
)
def test_a_dead_rule_is_told_with_the_right_one(rule: str, why: str) -> None:
    assert why in (dead_rule(rule, Path("/p/app"), denies=False) or "")


@pytest.mark.parametrize(
    "rule",
    ["Edit", "Read", "Write", "Edit(//p/app/**)", "Read(~/.ssh/**)", r"Edit(//p/\[a\] \(b\)/**)",
     "Bash(git add *)", r"Bash(grep \d *)", "Bash(/usr/bin/true)", "Edit(src/**)"],
)  # fmt: skip
def test_a_living_rule_is_not(rule: str) -> None:
    assert dead_rule(rule, Path("/p/app"), denies=True) is None


def test_a_rule_that_denies_the_home_folder_denies_a_project_in_it() -> None:
    assert dead_rule("Edit(~/**)", Path.home() / "app", denies=True)
    assert dead_rule("Edit(~/**)", Path("/elsewhere/app"), denies=True) is None
    assert dead_rule("Edit(~/**)", Path.home() / "app", denies=False) is None


def test_rules_for_another_folder_are_told(healthy: Person) -> None:
    path = healthy.project.builder_settings
    path.write_text(path.read_text().replace(f"Edit(/{healthy.root}/", "Edit(//old/place/"))
    approve(healthy.project)
    told = [fault.what for fault in faults(healthy)]
    assert told == [
        f"no rule lets the Builder change files in {healthy.root}",
        "no rule keeps the Builder out of the queue in .ai/",
    ]


# The disk


def test_the_file_system_is_that_of_the_deepest_mount() -> None:
    mounts = (
        "/dev/sda1 / ext4 rw 0 0\n"
        "server:/x /net/my\\040share nfs4 rw 0 0\n"
        "me@host: /net/my\\040share/sub fuse.sshfs rw 0 0\n"
        "junk\n"
    )
    assert filesystem_of(Path("/home/me/app"), mounts) == "ext4"
    assert filesystem_of(Path("/net/my share/app"), mounts) == "nfs4"
    assert filesystem_of(Path("/net/my share/sub/app"), mounts) == "fuse.sshfs"
    assert filesystem_of(Path("/net/my shared/app"), mounts) == "ext4"
    assert filesystem_of(Path("/x"), "") is None


def test_a_project_on_a_network_drive_is_told(
    healthy: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"server:/x {healthy.root} cifs rw 0 0\n")
    monkeypatch.setattr("loop.store.drive._MOUNTS", mounts)
    fault = only_fault(healthy)
    assert fault.level == "error"
    assert "network drive (cifs)" in fault.what


def test_a_folder_without_any_set_up_is_examined_too(person: Person) -> None:
    project = Project(person.root)
    told = [f.what for f in examine(project, env=person.env, platform="linux") if not f.ok]
    assert any(".ai/queue is missing" in what for what in told)
    assert list(person.root.iterdir()) == []
