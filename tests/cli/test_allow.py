"""`loop allow`, as a person meets it."""

from __future__ import annotations

import errno
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from loop.builder.permissions import approved, approved_file
from loop.errors import NotReady
from loop.store.paths import Project
from tests.cli.conftest import BOUND_S, Called

Loop = Callable[..., Called]


@pytest.fixture
def ready(loop: Loop, project: Project) -> Project:
    """The project, set up."""
    assert loop("init", "--no-desktop").code == 0
    return project


def asks_for_more(project: Project) -> None:
    text = project.builder_settings.read_text()
    project.builder_settings.write_text(text.replace('"Read",', '"Read", "Bash(touch x)",'))
    (project.root / ".mcp.json").write_text('{"mcpServers": {"theirs": {"command": "x"}}}\n')


def test_a_rule_is_allowed_and_told(loop: Loop, ready: Project) -> None:
    called = loop("allow", "Bash(npm test)", "Read")
    assert (called.code, called.err) == (0, "")
    assert called.out == "✓ allowed: Bash(npm test)\n· allowed already: Read\n"
    data = loop("allow", "Bash(npm test)", "--json").json
    assert data == {"added": [], "there": ["Bash(npm test)"], "pending": False}
    assert "Bash(npm test)" in approved(ready).read_text()


@pytest.mark.usefixtures("ready")
def test_a_refused_rule_is_one_line_that_says_what_to_write(loop: Loop) -> None:
    called = loop("allow", "Write(src/**)")
    assert (called.code, called.out) == (1, "")
    assert called.err.count("\n") == 1
    assert "write `Edit(src/**)`" in called.err
    assert loop("allow", "Bash(git *)").code == 1
    assert loop("allow", "Bash(git *)", "--anyway").code == 0


def test_nothing_that_is_approved_hides_behind_the_length_of_a_file(
    loop: Loop, ready: Project
) -> None:
    servers = {f"harmless{n}": {"command": "true"} for n in range(100)}
    servers["last"] = {"command": "evil"}
    (ready.root / ".mcp.json").write_text(json.dumps({"mcpServers": servers}, indent=1))
    assert '"evil"' in loop("allow", "--review").out


@pytest.mark.usefixtures("ready")
def test_without_a_rule_those_in_force_are_listed(loop: Loop) -> None:
    called = loop("allow")
    allowed, _, denied = called.out.partition("\nDenied\n")
    assert allowed.startswith("Allowed\n  Edit(//")
    assert "  Bash(git push *)\n" in denied
    data = loop("allow", "--json").json
    assert set(data) == {"allow", "deny", "ask", "pending"}
    assert "Read" in data["allow"]


def test_what_waits_is_told_shown_and_approved(loop: Loop, ready: Project) -> None:
    assert loop("allow", "--review").out == "✓ all is as it was approved\n"
    asks_for_more(ready)
    assert "`loop allow --review` shows it" in loop("allow").out
    assert "still waits" in loop("allow", "Bash(npm test)").out

    seen = loop("allow", "--review")
    assert seen.code == 1
    assert "  + allow: Bash(touch x)\n" in seen.out
    assert '  +{"mcpServers": {"theirs": {"command": "x"}}}\n' in seen.out
    assert "run `loop allow --review --yes`" in seen.err
    with pytest.raises(NotReady):
        approved(ready)

    data = loop("allow", "--review", "--json")
    assert data.code == 1
    assert data.json["approved"] is False
    assert data.json["rules"] == [
        {"where": "allow", "added": True, "what": "Bash(touch x)", "more": True}
    ]
    assert [(file["path"], file["how"]) for file in data.json["files"]] == [
        (".mcp.json", "appeared")
    ]
    assert loop("allow", "--review", "--yes").out.endswith("✓ approved\n")
    assert "Bash(touch x)" in approved(ready).read_text()


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 1), ("", 1)])
def test_on_a_terminal_a_person_is_asked(
    ready: Project, env: dict[str, str], answer: str, code: int
) -> None:
    asks_for_more(ready)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "loop", "allow", "--review"],
        cwd=ready.root, env=env, stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    said = read_until(ours, "[y/N] ")
    assert "Bash(touch x)" in said
    os.write(ours, f"{answer}\n".encode())
    said = read_until(ours, None)
    assert process.wait(BOUND_S) == code
    os.close(ours)
    assert ("approved" in said) and (("not approved" in said) == bool(code))
    assert ("Bash(touch x)" in approved_file(ready).read_text()) == (not code)


def read_until(terminal: int, words: str | None) -> str:
    """What is said up to these words, or to the end; pytest's own limit bounds it."""
    said = b""
    while words is None or words.encode() not in said:
        try:
            piece = os.read(terminal, 4096)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            break
        if not piece:
            break
        said += piece
    return said.decode()


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize("words", [["--review", "Read"], ["--yes"], ["--anyway"]], ids=" ".join)
def test_options_that_do_not_go_together_are_a_mistake(loop: Loop, words: list[str]) -> None:
    assert loop("allow", *words).code == 2


def test_a_builder_can_neither_allow_nor_approve(
    loop: Loop, ready: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks_for_more(ready)
    monkeypatch.setenv("LOOP_RUN", "x")
    for words in (
        ["allow", "Bash(npm test)"], ["allow", "--review", "--yes"], ["init", "--preset", "node"],
    ):  # fmt: skip
        called = loop(*words)
        assert called.code == 1
        assert "a run can't approve rules" in called.err
    assert "npm" not in approved_file(ready).read_text()


def test_a_preset_is_named_on_the_command_line(loop: Loop, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    made = loop("init", str(folder), "--no-desktop", "--preset", "python", "--preset", "node")
    assert made.code == 0
    rules = json.loads(approved(Project(folder)).read_text())["permissions"]["allow"]
    assert {"Bash(pytest)", "Bash(npm test)"} < set(rules)
    assert loop("init", str(folder), "--preset", "cobol").code == 2
