"""pause and resume."""

from __future__ import annotations

from collections.abc import Callable

from loop.store.paths import Project
from loop.store.project_files import read_pause
from tests.cli.conftest import Called

Loop = Callable[..., Called]


def test_the_queue_is_paused_and_resumed(loop: Loop, project: Project) -> None:
    called = loop("pause", "over", "lunch")
    assert called.out == "‖ paused: over lunch; what runs goes on, `loop resume` lifts it\n"
    pause = read_pause(project)
    assert pause is not None and (pause.by, pause.reason) == ("user", "over lunch")
    assert loop("resume").out == "▶ resumed; it was paused by the user: over lunch\n"
    assert read_pause(project) is None


def test_pausing_and_resuming_twice_changes_nothing_and_says_so(loop: Loop) -> None:
    assert loop("pause", "--json").json["changed"] is True
    assert loop("pause", "again", "--json").json == {
        "paused": {"reason": "paused by the user", "by": "user"},
        "changed": False,
    }
    assert "was paused already by the user" in loop("pause").out
    assert loop("resume", "--json").json["changed"] is True
    assert loop("resume", "--json").json == {"lifted": None, "changed": False}
    assert loop("resume").out == "the queue was not paused; nothing was changed\n"
