"""The Claude Code plugin: what it holds, and how it gets to a person's Claude Code and away again,
on the real one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from loop import __version__
from loop.errors import LoopError
from loop.setup import examine_plugin, plugin, plugin_files
from loop.setup.finding import Finding
from loop.setup.init import initialise
from loop.setup.step import Step
from loop.setup.uninstall import uninstall
from loop.templates import scaffolding
from tests.claude_binary import find_claude
from tests.setup.person import NOW, Person, make_person, step, tree

COMMANDS = ["add", "edit", "init", "next", "plan", "remove", "reset", "run", "status", "stop"]
#: What a command may let Claude do without asking: nothing that approves, sets up or clears.
MAY_BE_ALLOWED = re.compile(
    r"Bash\(loop (next|stop)\)|Bash\(git (add|commit) \*\)|Edit\(\.ai/state/words-\*\.json\)"
    r"|Bash\(loop (add --no-commands --plan|edit|remove|status|next|done|fail|ask|split|note) \*\)"
)


@pytest.fixture
def someone(tmp_path: Path, installed: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    """A person with the real Claude Code, an installed `loop`, and a space in their paths."""
    parent = tmp_path / "my machine"
    parent.mkdir()
    person = make_person(parent, installed, monkeypatch)
    person.env["LOOP_CLAUDE"] = str(find_claude())
    # Nobody listens there, and nobody is called but for it.
    person.env["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:9"
    person.env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
    return person


def put_in(person: Person, root: Path | None = None, *, python: Path | None = None) -> Step:
    report = initialise(
        root or person.root, env=person.env, python=python or person.python, now=NOW,
        platform="linux", desktop=False, with_plugin=True,
    )  # fmt: skip
    return step(report, plugin.WHAT)


def take_out(person: Person, root: Path | None = None) -> Step:
    project = type(person.project)(root or person.root)
    steps = uninstall(project, env=person.env, purge=False, platform="linux")
    return step(steps, plugin.WHAT)


def claude(person: Person, *words: str) -> str:
    done = subprocess.run(
        [str(find_claude()), *words],
        env=person.env, cwd=person.home, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def known_plugins(person: Person) -> list[tuple[str, bool]]:
    listed = json.loads(claude(person, "plugin", "list", "--json"))
    return [(p["id"], p["enabled"]) for p in listed if p["id"].startswith("loop@")]


# What it holds


@pytest.mark.parametrize("what", ["as shipped", "as installed"])
def test_the_real_claude_code_finds_nothing_to_say_against_it(someone: Person, what: str) -> None:
    place = scaffolding() / "plugin"
    if what == "as installed":
        plugin_files.write(plugin_files.rendered(someone.python, "linux"))
        place = plugin_files.plugin_home()
    assert "Validation passed" in claude(someone, "plugin", "validate", "--strict", str(place))


def test_it_has_the_ten_commands_and_the_version_of_the_package() -> None:
    source = scaffolding() / "plugin"
    assert sorted(path.stem for path in (source / "commands").iterdir()) == COMMANDS
    manifest = json.loads((source / ".claude-plugin" / "plugin.json").read_text())
    assert (manifest["name"], manifest["version"]) == ("loop", __version__)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_hands_words_to_a_shell_or_shows_itself_to_other_sessions(name: str) -> None:
    text = (scaffolding() / "plugin" / "commands" / f"{name}.md").read_text()
    head, body = text.removeprefix("---\n").split("\n---\n", 1)
    # Claude Code fills in the words before it has a shell read what stands behind a `!`.
    for called in re.findall(r"!`([^`]*)`", body):
        assert called in ("loop status", "loop stop")
    assert "```!" not in body
    assert body.count("$ARGUMENTS") == body.count("<words>\n$ARGUMENTS\n</words>")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    assert fields["disable-model-invocation"] == "true"
    for rule in fields.get("allowed-tools", "").split(", "):
        assert not rule or MAY_BE_ALLOWED.fullmatch(rule), rule
    assert len(body) < 4000


def test_its_hooks_are_three_bounded_and_never_report_an_error() -> None:
    hooks = json.loads((scaffolding() / "plugin" / "hooks" / "hooks.json").read_text())["hooks"]
    assert list(hooks) == ["Stop", "StopFailure", "SessionEnd"]
    for ((hook,),) in [[group["hooks"] for group in groups] for groups in hooks.values()]:
        assert hook["command"] == "loop-hook shift || exit 0"
        assert 0 < hook["timeout"] <= 120


def test_the_skill_says_when_to_use_it_and_names_every_command() -> None:
    (skill,) = (scaffolding() / "plugin" / "skills").glob("*/SKILL.md")
    text = skill.read_text()
    assert "Use it when" in text.split("\n---\n")[0]
    assert "disable-model-invocation" not in text.split("\n---\n")[0]
    assert [name for name in COMMANDS if f"/loop:{name}" not in text] == []


# In and out


def test_it_is_installed_once_and_taken_out_again_and_nothing_else_is_touched(
    someone: Person,
) -> None:
    settings = plugin.settings_file(someone.env, "linux")
    settings.parent.mkdir()
    settings.write_text('{"theme": "dark", "enabledPlugins": {"other@somewhere": true}}')

    made = put_in(someone)
    assert made.outcome == "created", made
    assert made.note and "loop uninstall" in made.note
    assert known_plugins(someone) == [("loop@claude-automation-loop", True)]
    assert plugin.is_enabled(someone.env, "linux")
    assert not (someone.root / ".claude").exists()

    before = tree(someone.home), tree(someone.root)
    assert put_in(someone).outcome == "unchanged"
    assert (tree(someone.home), tree(someone.root)) == before

    assert take_out(someone).note == "removed"
    assert known_plugins(someone) == []
    assert not plugin_files.plugin_home().exists()
    kept = json.loads(settings.read_text())
    assert kept["theme"] == "dark"
    assert kept["enabledPlugins"] == {"other@somewhere": True}
    assert take_out(someone).outcome == "unchanged"


def test_it_stays_while_another_project_wants_it_and_follows_the_interpreter(
    someone: Person, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    put_in(someone)
    assert put_in(someone, other, python=Path(sys.executable)).outcome == "updated"
    commands = [hook["command"] for hook in plugin_files.hooks_on_disk().values()]
    assert commands == [f"{sys.executable} -I -m loop.hooks.entry shift || exit 0"] * 3

    kept = take_out(someone)
    assert (kept.outcome, kept.note) == ("kept", f"{other} has it, too")
    assert plugin.is_enabled(someone.env, "linux")
    assert take_out(someone, other).note == "removed"
    assert not plugin.is_known(someone.env, "linux")


def test_it_is_loaded_from_where_it_lies_now(
    someone: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in(someone)
    someone.env["XDG_STATE_HOME"] = str(tmp_path / "moved")
    monkeypatch.setenv("XDG_STATE_HOME", someone.env["XDG_STATE_HOME"])
    assert not plugin.is_enabled(someone.env, "linux")
    put_in(someone)
    assert plugin.is_enabled(someone.env, "linux")


def test_each_claude_code_that_was_told_of_it_forgets_it(someone: Person, tmp_path: Path) -> None:
    put_in(someone)
    usual = plugin.settings_file(someone.env, "linux")
    at_work = someone.env | {"CLAUDE_CONFIG_DIR": str(tmp_path / "at work")}
    someone.env.update(at_work)
    assert put_in(someone).outcome == "updated"
    assert plugin.is_enabled(at_work, "linux")
    assert take_out(someone).note == "removed"
    assert not plugin.is_known(at_work, "linux")
    assert plugin_files.PLUGIN_ID not in usual.read_text()


def test_a_marketplace_of_that_name_which_is_the_persons_own_is_kept(someone: Person) -> None:
    settings = plugin.settings_file(someone.env, "linux")
    settings.parent.mkdir()
    source = {"source": "github", "repo": "somebody/loop"}
    theirs = json.dumps(
        {
            "extraKnownMarketplaces": {plugin_files.MARKETPLACE: {"source": source}},
            "enabledPlugins": {plugin_files.PLUGIN_ID: True},
        }
    )
    settings.write_text(theirs)
    left = put_in(someone)
    assert left.outcome == "skipped"
    assert left.note and "(somebody/loop), which is kept" in left.note
    assert take_out(someone).outcome == "unchanged"
    assert settings.read_text() == theirs
    assert "is not installed" in look(someone)[0].what


def test_what_claude_code_could_not_be_told_is_told_the_next_time(someone: Person) -> None:
    put_in(someone)
    moved = Path(sys.executable)
    there = someone.env["LOOP_CLAUDE"]
    someone.env["LOOP_CLAUDE"] = "/nowhere/claude"
    assert put_in(someone, python=moved).outcome == "skipped"
    someone.env["LOOP_CLAUDE"] = there
    assert put_in(someone, python=moved).outcome == "updated"  # it may keep a copy of its own
    assert put_in(someone, python=moved).outcome == "unchanged"


def test_a_linked_folder_is_not_filled_or_cleared(someone: Person, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "notes.txt").write_text("mine")
    home = plugin_files.plugin_home()
    home.parent.mkdir(parents=True)
    home.symlink_to(theirs)
    with pytest.raises(LoopError, match="remove the link and try again"):
        put_in(someone)
    assert take_out(someone).note == "removed"
    assert (home.is_symlink(), tree(theirs)) == (False, {"notes.txt": b"mine"})


def test_without_a_claude_code_it_is_left_undone_and_says_how_to_go_on(someone: Person) -> None:
    someone.env["LOOP_CLAUDE"] = "/nowhere/claude"
    left = put_in(someone)
    assert left.outcome == "skipped"
    assert left.note and "/nowhere/claude" in left.note
    assert "no executable file. Once that is mended, run `loop init --plugin` again" in left.note
    assert f"--plugin-dir '{plugin_files.plugin_home() / 'loop'}'" in left.note
    assert not plugin.is_known(someone.env, "linux")
    assert take_out(someone).note == "removed"
    assert not plugin_files.plugin_home().exists()


def test_what_is_left_behind_without_a_claude_code_goes_by_what_is_said(someone: Person) -> None:
    assert put_in(someone).outcome == "created"
    left = take_out(Person(someone.home, someone.root, someone.python,
                           someone.env | {"LOOP_CLAUDE": "/nowhere/claude"}))  # fmt: skip
    assert left.outcome == "skipped" and left.note
    # With --purge there is no project any more in which `loop uninstall` could run again.
    (command,) = re.findall(r"run `claude (.*?)`", left.note)
    claude(someone, *command.split())
    assert known_plugins(someone) == [] and not plugin.is_known(someone.env, "linux")


def test_what_claude_code_refuses_is_told_in_one_line(someone: Person, tmp_path: Path) -> None:
    refusing = tmp_path / "claude"
    refusing.write_text("#!/bin/sh\necho 'not\nallowed here' >&2\nexit 1\n")
    refusing.chmod(0o755)
    someone.env["LOOP_CLAUDE"] = str(refusing)
    left = put_in(someone)
    assert left.outcome == "skipped"
    assert left.note and left.note.startswith("`claude plugin marketplace add` failed (not allowed")


# Its hooks and its `loop`


@pytest.mark.skipif(sys.platform == "win32", reason="the interpreter is a shell script")
def test_the_hooks_and_the_command_find_an_interpreter_in_an_odd_place(tmp_path: Path) -> None:
    python = tmp_path / "it's $(touch PWNED) `x` here" / "python"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\necho "$@" >> "$CALLS"\n')
    python.chmod(0o755)
    files = plugin_files.rendered(python, "linux")
    hooks = json.loads(files["loop/hooks/hooks.json"])["hooks"]
    script = tmp_path / "loop"
    script.write_bytes(files["loop/bin/loop"])
    script.chmod(0o755)
    env = {"CALLS": str(tmp_path / "calls"), "PATH": "/usr/bin:/bin"}
    commands = [groups[0]["hooks"][0]["command"] for groups in hooks.values()]
    for command in (*commands, f"{script} add 'a b'"):
        subprocess.run(command, shell=True, cwd=tmp_path, env=env, check=True, timeout=20)
    assert (tmp_path / "calls").read_text().splitlines() == [
        *["-I -m loop.hooks.entry shift"] * 3,
        "-I -m loop add a b",
    ]
    assert not (tmp_path / "PWNED").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="it is a shell script")
def test_its_loop_says_what_to_do_when_the_interpreter_is_gone(tmp_path: Path) -> None:
    script = tmp_path / "loop"
    script.write_bytes(plugin_files.rendered(Path("/gone/it's/python"), "linux")["loop/bin/loop"])
    script.chmod(0o755)
    done = subprocess.run([script], capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "loop: /gone/it's/python is gone: run 'loop init --plugin' again in a terminal\n"
    )


def test_on_windows_both_shells_read_the_hooks_command() -> None:
    files = plugin_files.rendered(Path("/c/My Tools/python.exe"), "win32")
    hook = json.loads(files["loop/hooks/hooks.json"])["hooks"]["Stop"][0]["hooks"][0]
    assert hook["command"] == (
        '"/c/My Tools/python.exe" -I -m loop.hooks.entry shift || exit 0'
    )  # fmt: skip


def test_a_hook_whose_interpreter_is_gone_disturbs_nobody() -> None:
    files = plugin_files.rendered(Path("/gone/python"), "linux")
    hook = json.loads(files["loop/hooks/hooks.json"])["hooks"]["Stop"][0]["hooks"][0]
    done = subprocess.run(hook["command"], shell=True, capture_output=True, timeout=20, check=False)
    assert (done.returncode, done.stdout) == (0, b"")


# The doctor


def look(person: Person) -> list[Finding]:
    return list(examine_plugin.installed(person.project, person.env, "linux"))


def test_the_doctor_sees_whether_it_is_there_current_and_working(someone: Person) -> None:
    (absent,) = look(someone)
    assert (absent.level, absent.mend) == ("note", "run `loop init --plugin`")

    put_in(someone)
    assert [finding.level for finding in look(someone)] == ["ok"] * 4

    manifest = plugin_files.plugin_home() / "loop/.claude-plugin/plugin.json"
    manifest.write_text(manifest.read_text().replace(__version__, "0.0.1"))
    assert "of version 0.0.1, not " in look(someone)[0].what

    put_in(someone, python=Path("/gone/python"))
    broken = [finding for finding in look(someone) if not finding.ok]
    assert [finding.what.split(":")[0] for finding in broken] == [
        "the plugin's Stop hook does not work",
        "the plugin's StopFailure hook does not work",
        "the plugin's SessionEnd hook does not work",
    ]
    assert "/gone/python" in broken[0].what

    claude(someone, "plugin", "disable", plugin_files.PLUGIN_ID)
    assert "does not load it" in look(someone)[0].what
    assert put_in(someone).outcome == "updated"
    assert [finding.level for finding in look(someone)] == ["ok"] * 4


@pytest.mark.parametrize("odd", ["'", '"', "$", "`", ":", "\\", "\n"])
def test_where_claude_code_can_not_put_its_loop_on_the_path_that_is_said(
    someone: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    someone.env["PATH"] = "/nowhere"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "plain ~!*[]{}#;&|<>()=%,@^+é"))
    assert not plugin.is_hidden(someone.env, "linux")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / f"a{odd}b"))
    plugin_files.write(plugin_files.rendered(someone.python, "linux"))
    assert look(someone)[-1].mend == "put `loop` on PATH, as `pipx install` does"
    (tmp_path / "loop").touch(0o755)
    assert not plugin.is_hidden(someone.env | {"PATH": str(tmp_path)}, "linux")
