"""On a real terminal, by tmux."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from loop.store.paths import Project
from tests.cli.conftest import BOUND_S, running, settled

_TITLE = "A title of just the seventy-two characters that are shown of it, all-ok"


class Screen:
    """A terminal of 80 columns and 30 lines, with a tmux server of its own."""

    def __init__(self, folder: Path, project: Project, env: dict[str, str]) -> None:
        tmux = shutil.which("tmux")
        assert tmux is not None, "these tests need tmux: install it (apt install tmux)"
        self._command = [tmux, "-S", str(folder / "tmux"), "-f", "/dev/null"]
        self._env = env | {"TERM": "screen-256color"}
        self._root = project.root

    def start(self, *words: str) -> None:
        loop = shlex.join([sys.executable, "-m", "loop", *words])
        command = f'{loop}; echo "ended $?"; exec sleep 600'
        self._tmux("new-session", "-d", "-x", "80", "-y", "30", "-c", str(self._root), command)

    def press(self, key: str) -> None:
        self._tmux("send-keys", key)

    def until(self, seen: Callable[[str], bool]) -> str:
        """The screen's text once it shows what is waited for."""
        deadline = time.monotonic() + BOUND_S
        while not seen(text := self._tmux("capture-pane", "-p")):
            assert time.monotonic() < deadline, text
            time.sleep(0.05)
        return text

    def end(self) -> None:
        subprocess.run([*self._command, "kill-server"], capture_output=True, timeout=BOUND_S,
                       check=False)  # fmt: skip

    def _tmux(self, *words: str) -> str:
        done = subprocess.run([*self._command, *words], env=self._env, capture_output=True,
                              text=True, timeout=BOUND_S, check=True)  # fmt: skip
        return done.stdout


@pytest.fixture
def screen(tmp_path: Path, project: Project, env: dict[str, str]) -> Iterator[Screen]:
    made = Screen(tmp_path, project, env)
    try:
        yield made
    finally:
        made.end()


def _has(*parts: str) -> Callable[[str], bool]:
    return lambda text: all(part in text for part in parts)


def test_status_is_readable_on_80_columns(screen: Screen, project: Project) -> None:
    settled(project, _TITLE, "failure", "verification_failed")
    screen.start("status")
    text = screen.until(_has("ended 0"))
    words = " ".join(text.split())
    assert "worker none is open; open Claude Desktop, or run `loop work`" in words
    row = text[text.index("✗  1") :]
    assert "failure: verification_failed, $0.12, 3 min 4 s\n" in row
    assert all(word in row for word in _TITLE.split())


def test_loop_alone_works_and_leaves_on_ctrl_c(screen: Screen, project: Project) -> None:
    screen.start()
    screen.until(_has("Working on shop", "Ctrl-C ends it"))
    screen.until(lambda _: "work" in project.worker_lock.read_text() if
                 project.worker_lock.exists() else False)  # fmt: skip
    screen.press("C-c")
    screen.until(_has("ended 130"))


def test_watch_keeps_up_with_what_happens(screen: Screen, project: Project) -> None:
    screen.start("watch")
    screen.until(_has("The queue is empty", "Ctrl-C ends it"))
    running(project, "Goes on")
    text = screen.until(_has("▶  1  Goes on"))
    assert "The queue is empty" not in text
    screen.press("C-c")
    screen.until(_has("ended 130"))
