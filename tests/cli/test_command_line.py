"""The command line itself: help, mistakes, start-up."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from loop import __version__
from loop.cli.commands import COMMANDS, GROUPS, top_help
from loop.cli.parser import parser_of
from loop.store.paths import Project
from tests.cli.conftest import BOUND_S, Called

Loop = Callable[..., Called]

_PROBE = """
import io, contextlib, sys
from loop.__main__ import main
with contextlib.redirect_stdout(io.StringIO()):
    code = main(sys.argv[1:])
names = ("mcp", "watchfiles", "pydantic", "asyncio", "anyio", "rich", "msgspec")
print(code, *(name for name in names if name in sys.modules))
"""


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_is(name: str) -> None:
    command = COMMANDS[name]
    assert command.group in GROUPS
    assert command.summary[0].islower() and not command.summary.endswith(".")
    assert command.description[0].isupper() and command.description.endswith(".")
    arguments = parser_of(command)._actions
    assert all(action.help for action in arguments), arguments


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_prints_its_help_within_80_columns(
    name: str, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    called = loop(name, "--help")
    assert called.code == 0
    assert called.out.startswith(f"usage: loop {name} ")
    assert "--project DIR" in called.out
    assert ("--json" in called.out) == COMMANDS[name].prints_data
    assert all(len(line) <= 80 for line in called.out.splitlines())


def test_the_top_help_groups_all_commands_and_gives_two_examples(loop: Loop) -> None:
    text = loop("--help").out
    assert text == top_help() == loop("-h").out
    assert all(f"\n{group}:\n" in text for group in GROUPS)
    assert all(f"\n  {name} " in text for name in COMMANDS)
    assert len(text.partition("Examples:\n")[2].splitlines()) == 2
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_examples_of_the_top_help_are_true() -> None:
    for line in top_help().partition("Examples:\n")[2].splitlines():
        words = line.split()
        assert words[0] == "loop" and words[1] in COMMANDS
    options = parser_of(COMMANDS["add"])._option_string_actions
    assert "--priority" in options


@pytest.mark.parametrize("name", ["frob", "exec", "deploy"])
def test_a_command_that_is_not_there_is_named(name: str, loop: Loop) -> None:
    called = loop(name, "1")
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith(f"loop: unknown command '{name}'")


def test_a_misspelled_command_is_guessed(loop: Loop) -> None:
    assert "did you mean `status`?" in loop("statsu").err


def test_the_version_is_told(loop: Loop) -> None:
    assert loop("--version").out == f"loop {__version__}\n"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--bogus",), "--bogus"),
        (("--project",), "--project"),
        (("--project=", "status"), "--project"),
        (("status", "--project", ""), "--project"),
        (("status", "--bogus"), "--bogus"),
        (("status", "1", "2"), "2"),
        (("add",), "title"),
        (("add", "x", "--priority", "soon"), "--priority"),
        (("add", "x", "--max-turns", "0"), "--max-turns"),
        (("add", "x", "--max-turns", "１"), "--max-turns"),
        (("add", "x", "--max-budget-usd", "nan"), "--max-budget-usd"),
        (("add", "x", "--timeout-minutes", "0"), "--timeout-minutes"),
        (("add", "x", "--key", " "), "--key"),
        (("add", "x", "--prio", "high"), "--prio"),
        (("edit",), "ID"),
        (("requeue",), "ID"),
        (("timeline", "-n", "-1"), "-n"),
        (("work", "--max-tasks", "none"), "--max-tasks"),
        (("work", "--cooldown", "-1"), "--cooldown"),
        (("work", "--json"), "--json"),
        (("log", "1", "--raw", "--json"), "--raw"),
        (("init", "a", "--project", "b"), "--project"),
        (("add", "x", "--max-turns=--"), "--max-turns"),
    ],
)
def test_a_wrong_command_line_is_told_in_one_line_and_changes_nothing(
    words: tuple[str, ...], named: str, loop: Loop, project: Project
) -> None:
    called = loop(*words)
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith("loop: ") and called.err.count("\n") == 1
    assert named in called.err
    assert not any(path.is_file() for path in project.ai.rglob("*"))


def test_a_mistake_is_told_in_few_words_as_they_were_typed(loop: Loop) -> None:
    long = loop("stop", "x" * 10_000).err
    assert "unknown arguments: xxx" in long and len(long) < 500
    assert "unknown arguments: -5;" in loop("stop", "--", "-5").err
    assert "not '-5';" in loop("add", "x", "--max-turns", "--", "-5").err


def test_two_dashes_behind_an_equals_sign_are_words(loop: Loop) -> None:
    assert loop("add", "x", "--target=--").code == 0
    assert "--" in loop("status", "1").out


def test_a_hostile_argument_steers_no_terminal(loop: Loop) -> None:
    for words in (
        ("\x1b[2J",),
        ("status", "--\x1b[2J\n"),
        ("edit", "\x1b]0;x\x07", "--title", "a"),
    ):
        called = loop(*words)
        assert called.code in (1, 2)
        assert called.err.count("\n") == 1
        assert "\x1b" not in called.err and "\x07" not in called.err


def test_the_project_is_taken_before_and_behind_the_command(
    loop: Loop, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    root = str(project.root)
    for words in (
        ("--project", root, "status"),
        (f"--project={root}", "status"),
        ("status", "--project", root),
        ("--project", "/nowhere", "status", "--project", root),
    ):
        assert loop(*words, "--json").json["root"] == root


def test_the_project_is_found_above_the_current_folder(
    loop: Loop, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = project.root / "src" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert loop("status", "--json").json["root"] == str(project.root)


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("add", "x"),
        ("edit", "1", "--title", "x"),
        ("requeue", "1"),
        ("cancel", "1"),
        ("pause",),
        ("resume",),
        ("timeline",),
        ("log", "1"),
        ("doctor",),
        ("instructions",),
        ("uninstall",),
        ("work",),
        ("serve",),
        ("watch",),
    ],
)
def test_without_a_project_every_command_says_so_in_one_line(
    words: tuple[str, ...], loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    called = loop(*words)
    assert (called.code, called.out) == (1, "")
    assert called.err.startswith("loop: no project at or above /: run `loop init`")
    assert called.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "loaded"),
    [
        (["--help"], set()),
        (["add", "--help"], set()),
        (["statsu"], set()),
        (["status"], {"msgspec"}),
        (["status", "--json"], {"msgspec"}),
        (["timeline"], {"msgspec"}),
        (["add", "x"], {"msgspec"}),
    ],
)
def test_nothing_heavy_is_imported_on_the_way(
    words: list[str], loaded: set[str], project: Project, env: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, *words],
        cwd=project.root, env=env, capture_output=True, text=True, timeout=BOUND_S, check=True,
    )  # fmt: skip
    code, *modules = done.stdout.split()
    assert code == ("2" if words == ["statsu"] else "0")
    assert set(modules) == loaded


def test_a_terminal_gets_rich_and_nothing_heavier(project: Project, env: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, "status"],
        cwd=project.root, env=env | {"FORCE_COLOR": "1"},
        capture_output=True, text=True, timeout=BOUND_S, check=True,
    )  # fmt: skip
    assert set(done.stdout.split()[1:]) == {"msgspec", "rich"}
