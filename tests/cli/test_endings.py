"""How the command line ends: exit codes, closed pipes, full disks, defects."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from loop.store.paths import Project
from tests.cli.conftest import BOUND_S, Called

Loop = Callable[..., Called]

_RAISING = """
import sys
from loop.actions import overview as shown
def overview(*arguments, **more):
    raise {error}
shown.overview = overview
from loop.__main__ import main
sys.exit(main(["status"]))
"""


def _raising(project: Project, env: dict[str, str], error: str) -> Called:
    done = subprocess.run(
        [sys.executable, "-c", _RAISING.format(error=error)],
        cwd=project.root, env=env, capture_output=True, text=True, timeout=BOUND_S, check=False,
    )  # fmt: skip
    return Called(done.returncode, done.stdout, done.stderr)


def test_a_defect_is_one_line_and_a_file(project: Project, env: dict[str, str]) -> None:
    called = _raising(project, env, "ValueError('odd\\n\\x1b[2J')")
    assert (called.code, called.out) == (3, "")
    assert called.err.count("\n") == 1 and "\x1b" not in called.err
    record = Path(called.err.rpartition(" ")[2].strip())
    assert record.parent == Path(env["XDG_STATE_HOME"], "loop", "crashes")
    text = record.read_text()
    assert "Traceback" in text and "ValueError: odd" in text
    assert f"Python {sys.version.split()[0]}" in text


def test_ctrl_c_ends_with_130_and_no_words(project: Project, env: dict[str, str]) -> None:
    assert _raising(project, env, "KeyboardInterrupt") == Called(130, "", "")


def test_a_file_that_can_not_be_read_is_one_line(project: Project, env: dict[str, str]) -> None:
    called = _raising(project, env, "PermissionError(13, 'Permission denied', '/x/paused.json')")
    assert called == Called(1, "", "loop: /x/paused.json: Permission denied\n")


def test_a_system_error_without_a_file_is_a_defect(project: Project, env: dict[str, str]) -> None:
    assert _raising(project, env, "OSError(24, 'Too many open files')").code == 3


@pytest.mark.parametrize("words", [["status"], ["--help"], ["add", "--help"], ["log", "1"],
                                   ["log", "1", "--raw"], ["status", "--json"]])  # fmt: skip
@pytest.mark.parametrize("forced", [{}, {"FORCE_COLOR": "1"}])
def test_a_reader_that_went_away_is_no_error(
    words: list[str], forced: dict[str, str], project: Project, env: dict[str, str]
) -> None:
    subprocess.run([sys.executable, "-m", "loop", "add", "T"], cwd=project.root, env=env,
                   capture_output=True, timeout=BOUND_S, check=True)  # fmt: skip
    project.log("1").write_bytes(b'{"type":"loop","event":"started"}\n' * 5000)
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "loop", *words],
            cwd=project.root, env=env | forced, stdin=subprocess.DEVNULL, stdout=writing,
            stderr=subprocess.PIPE, timeout=BOUND_S, check=False,
        )  # fmt: skip
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
@pytest.mark.parametrize("words", [["status"], ["add", "--help"], ["timeline", "--json"]])
def test_output_that_can_not_be_written_is_one_line(
    words: list[str], project: Project, env: dict[str, str]
) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "loop", *words],
            cwd=project.root, env=env, stdin=subprocess.DEVNULL, stdout=full,
            stderr=subprocess.PIPE, timeout=BOUND_S, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == b"loop: can't write the output: No space left on device\n"


def test_an_encoding_without_our_glyphs_is_no_error(project: Project, env: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "loop", "add", "Füße ✓"],
        cwd=project.root, env=env | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True, text=True, timeout=BOUND_S, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "F\\xfc\\xdfe \\u2713" in done.stdout


def test_a_deleted_current_folder_is_told(project: Project, env: dict[str, str]) -> None:
    gone = project.root / "gone"
    gone.mkdir()
    script = f'cd "{gone}" && rmdir "{gone}" && exec "{sys.executable}" -P -m loop status'
    done = subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True,
                          timeout=BOUND_S, check=False)  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == (
        "loop: the current folder is gone: change to another, or use --project\n"
    )
