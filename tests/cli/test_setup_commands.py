"""init, doctor, instructions, uninstall, as a person meets them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from loop.store.paths import Project
from tests.cli.conftest import Called

Loop = Callable[..., Called]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A git repository that is no project yet."""
    path = tmp_path / "new"
    path.mkdir()
    subprocess.run(["git", "init", "-q", str(path)], check=True, timeout=60)
    return path


def has_desktop() -> None:
    """Puts the folder of Claude Desktop where each system has it."""
    for name in (".config/Claude", "Library/Application Support/Claude"):
        Path(os.environ["HOME"], name).mkdir(parents=True, exist_ok=True)
    Path(os.environ["XDG_CONFIG_HOME"], "Claude").mkdir(parents=True, exist_ok=True)


def test_init_tells_its_steps_then_the_text_to_paste_then_what_is_next(
    loop: Loop, folder: Path
) -> None:
    has_desktop()
    called = loop("init", str(folder))
    assert (called.code, called.err) == (0, "")
    steps, _, rest = called.out.partition("\nProject Instructions: ")
    pasted, _, after = rest.partition("\nNext\n")
    assert steps.startswith(f"Set up {folder}\n✓ created ")
    assert f"{folder / '.ai'}\n" in steps
    assert "# Your role: the Architect of new" in pasted
    assert [line[:5] for line in after.splitlines()] == ["  1. ", "  2. "]
    assert Project(folder).queue.is_dir()


def test_without_a_desktop_nothing_is_said_of_pasting(loop: Loop, folder: Path) -> None:
    text = loop("init", "--no-desktop", str(folder)).out
    assert "Start Claude Desktop" not in text and "# Your role" not in text
    assert "2. Have it done: loop work\n" in text


@pytest.mark.skipif(sys.platform == "win32", reason="it is a shell script")
def test_the_commands_of_the_plugin_are_named_once_it_is_in(
    loop: Loop, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude = tmp_path / "claude"
    monkeypatch.setenv("LOOP_CLAUDE", str(claude))
    assert "/loop:run" not in loop("init", "--no-desktop", "--plugin", str(folder)).out
    claude.write_text("#!/bin/sh\n")
    claude.chmod(0o755)
    other = tmp_path / "other"
    other.mkdir()
    text = loop("init", "--no-desktop", "--plugin", str(other)).out
    assert "Or in a new session of Claude Code: /loop:plan REQUIREMENT, then /loop:run\n" in text


def test_an_approval_does_not_print_the_whole_text_again(loop: Loop, folder: Path) -> None:
    has_desktop()
    loop("init", str(folder))
    rules = Project(folder).builder_settings
    rules.write_text(rules.read_text().replace('      "Bash(git commit *)",\n', ""))
    text = loop("init", str(folder)).out
    assert "✓ updated    approved rules" in text
    assert "# Your role" not in text and "`loop instructions` prints" in text


def test_a_second_init_is_quiet(loop: Loop, folder: Path) -> None:
    loop("init", str(folder))
    called = loop("init", "--project", str(folder))
    assert called.out.startswith(f"✓ {folder} is set up already; nothing was changed\n")
    assert "Project Instructions" not in called.out and "created" not in called.out


def test_init_works_on_the_current_folder(
    loop: Loop, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    data = loop("init", "--json").json
    assert set(data) == {"project", "root", "server", "steps", "instructions"}
    assert (data["project"], data["root"]) == ("new", str(folder))
    assert {"what": "folders", "where": str(folder / ".ai"), "outcome": "created",
            "note": None} in data["steps"]  # fmt: skip


def test_init_of_what_is_no_folder_is_one_line(loop: Loop, tmp_path: Path) -> None:
    called = loop("init", str(tmp_path / "nowhere"))
    assert (called.code, called.out) == (1, "")
    assert called.err.startswith("loop: no folder ") and called.err.count("\n") == 1


def test_doctor_says_what_mends_and_fails_on_an_error(
    loop: Loop, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop("init", str(folder))
    monkeypatch.setenv("LOOP_CLAUDE", "/nowhere/claude")
    called = loop("doctor", "--project", str(folder))
    assert called.code == 1
    assert "✗ " in called.out and "\n  → " in called.out
    data = loop("doctor", "--project", str(folder), "--json")
    assert data.code == 1 and data.json["ok"] is False
    assert all(set(f) == {"ok", "level", "what", "mend"} for f in data.json["findings"])
    assert any("/nowhere/claude" in str(f) and f["level"] == "error" and f["mend"]
               for f in data.json["findings"])  # fmt: skip


def test_doctor_says_what_to_do_about_a_note_and_about_a_pause(loop: Loop, folder: Path) -> None:
    loop("init", str(folder))
    assert (
        "· nobody works the queue\n  → start Claude Desktop, or run `loop work`\n"
        in loop("doctor", "--project", str(folder)).out
    )
    loop("pause", "lunch", "--project", str(folder))
    called = loop("doctor", "--project", str(folder))
    assert called.code == 1 and "Nothing keeps a task from running" not in called.out
    assert "lunch\n  → run `loop resume`\n" in called.out


def test_instructions_are_the_text_alone(loop: Loop, folder: Path) -> None:
    made = loop("init", str(folder), "--json").json
    called = loop("instructions", "--project", str(folder))
    assert called.out.strip() == made["instructions"].strip()
    data = loop("instructions", "--project", str(folder), "--json").json
    assert data["instructions"] == made["instructions"]
    assert data["server"] in made["instructions"]


def test_uninstall_keeps_the_work_unless_it_is_purged(loop: Loop, folder: Path) -> None:
    loop("init", str(folder))
    called = loop("uninstall", "--project", str(folder))
    assert called.code == 0 and called.out.startswith(f"Taken out of {folder}\n")
    assert (folder / ".ai" / "queue").is_dir() and not (folder / "CLAUDE.md").exists()
    data = loop("uninstall", "--purge", "--project", str(folder), "--json").json
    assert {"what", "where", "outcome", "note"} == set(data["steps"][0])
    assert not (folder / ".ai").exists()
