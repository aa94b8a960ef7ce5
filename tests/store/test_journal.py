from __future__ import annotations

import os
import resource
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from itertools import count

import pytest

from loop.core import transition as rules
from loop.core.event import QueueResumed
from loop.core.task import Task, TaskFields
from loop.errors import LoopError
from loop.store import queue, timeline
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.scan import locate
from tests.crashing import killed_before_change
from tests.tasks import claim, settle, submit

Act = Callable[[Project, datetime], object]


def _claim(project: Project, now: datetime) -> object:
    return claim(project, locate(project, "1", now).task, now)


def _settle(project: Project, now: datetime) -> object:
    return settle(project, locate(project, "1", now).task, now)


def _give_back(project: Project, now: datetime) -> None:
    task = locate(project, "1", now).task
    event = rules.retried(task, "silent", None, now)
    queue.give_back(project, task, event, retry=True, note="n")


def _requeue(project: Project, now: datetime) -> object:
    return queue.requeue(project, "1", TaskFields(), "g", "architect", now, max_requeues=3)


VERBS: dict[str, tuple[list[Act], Act, str, str]] = {
    "submit": ([], submit, "task_queued", "queued"),
    "edit": (
        [submit],
        lambda p, n: queue.edit(p, "1", TaskFields(title="T"), "user", n),
        "task_edited",
        "queued",
    ),
    "claim": ([submit], _claim, "run_started", "running"),
    "settle": ([submit, _claim], _settle, "run_completed", "success"),
    "give_back": ([submit, _claim], _give_back, "run_completed", "queued"),
    "requeue": ([submit, _claim, _settle], _requeue, "task_requeued", "queued"),
    "cancel": (
        [submit],
        lambda p, n: queue.cancel_queued(p, "1", "user", n),
        "task_cancelled",
        "failure",
    ),
}


def _copies(project: Project) -> list[str]:
    folders = (project.queue, project.running, project.completed)
    return [p.parent.name for folder in folders for p in folder.glob("[0-9]*.json")]


def _events(project: Project) -> Counter[str]:
    return Counter(event["event"] for event in timeline.read_from(project.timeline, 0)[0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("verb", VERBS)
def test_a_transition_happens_once_or_not_at_all_whenever_it_is_killed(
    verb: str, tmp_path_factory: pytest.TempPathFactory, now: datetime
) -> None:
    steps, act, event, state_after = VERBS[verb]
    outcomes = set()
    for number in count(1):
        project = Project(tmp_path_factory.mktemp("p").resolve())
        for folder in project.folders():
            folder.mkdir(parents=True)
        for step in steps:
            step(project, now)
        before, copies_before = _events(project), _copies(project)
        killed = killed_before_change(number, project.ai, lambda p=project: act(p, now))  # type: ignore[misc]
        with transition(project):
            pass
        happened = _events(project) - before
        assert not (project.state / "intent.json").exists()
        if happened:
            assert happened == Counter({event: 1})
            assert locate(project, "1", now).state == state_after
            assert len(_copies(project)) == 1
        else:
            assert _copies(project) == copies_before
        outcomes.add(bool(happened))
        if not killed:
            break
    assert outcomes == {True, False}
    assert number > 5


def test_the_next_transition_of_any_process_finishes_what_was_begun(
    project: Project, now: datetime
) -> None:
    task = submit(project, now)
    assert killed_before_change(7, project.ai, lambda: claim(project, task, now))
    assert (project.state / "intent.json").exists()
    queue.note_event(project, QueueResumed(ts=now, actor="user"))
    events = [e["event"] for e in timeline.read_from(project.timeline, 0)[0]]
    assert events == ["task_queued", "run_started", "queue_resumed"]
    assert _copies(project) == ["running"]


def test_nothing_happens_when_the_block_ends_with_an_error(project: Project, now: datetime) -> None:
    with pytest.raises(ZeroDivisionError), transition(project) as t:
        t.put(project.paused, {"a": 1})
        t.append(QueueResumed(ts=now, actor="user"))
        raise ZeroDivisionError
    assert not project.paused.exists()
    assert not project.timeline.exists()


def test_a_torn_intent_is_thrown_away(project: Project, now: datetime) -> None:
    for torn in (b"", b'{"puts": [["queue/0001.js', b'{"puts": 5}', b"\xff"):
        (project.state / "intent.json").write_bytes(torn)
        submit(project, now, f"task {torn!r}")
        assert not (project.state / "intent.json").exists()
    assert len(_copies(project)) == 4


def _with_a_full_disk(room_bytes: int, project: Project, action: Callable[[], object]) -> None:
    """Runs `action` in a child for which no file may be longer than the timeline plus a little."""
    child = os.fork()
    if child == 0:
        most = project.timeline.stat().st_size + room_bytes
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        try:
            action()
        except LoopError:
            os._exit(3)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 3


@pytest.mark.parametrize("room_bytes", [0, 10, 190])
def test_events_that_a_full_disk_cut_are_in_the_timeline_once_and_whole(
    project: Project, now: datetime, room_bytes: int
) -> None:
    events = [QueueResumed(ts=now, actor="user", reason=f"{n}" * 60) for n in range(3)]
    project.timeline.write_bytes(b'{"event":"filler"}\n' * 2000)

    def append_all() -> None:
        with transition(project) as t:
            t.append(*events)

    _with_a_full_disk(room_bytes, project, append_all)
    task: Task = submit(project, now)
    told = [e.get("reason") for e in timeline.read_from(project.timeline, 0)[0][2000:]]
    assert told == [*(event.reason for event in events), None]
    assert task.id == "1"
    for line in project.timeline.read_bytes().splitlines():
        assert line.startswith(b"{")
        assert line.endswith(b"}")
