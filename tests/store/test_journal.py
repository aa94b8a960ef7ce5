from __future__ import annotations

import json
import os
import resource
import zlib
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
from loop.store.journal import interrupted, transition
from loop.store.paths import Project
from loop.store.scan import locate
from tests.crashing import killed_before_change
from tests.tasks import claim, settle, submit

#: Of a claim's changes of files: the new copy is put, the old one is not removed yet.
CLAIM_KILLED_AT = 6

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
        assert not interrupted(project)
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
    assert killed_before_change(CLAIM_KILLED_AT, project.ai, lambda: claim(project, task, now))
    assert interrupted(project)
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


def test_an_intent_that_is_not_whole_was_not_begun(project: Project, now: datetime) -> None:
    task = submit(project, now)
    assert killed_before_change(CLAIM_KILLED_AT, project.ai, lambda: claim(project, task, now))
    path = project.state / "intent"
    whole = path.read_bytes()
    torn = [b"", b'{"puts": 5}', b"\xff" * 30, b"0000000500 deadbeef\n{}"]
    torn += [whole[:length] for length in (5, 20, 21, len(whole) - 1)]
    torn += [whole[:-1] + bytes([whole[-1] ^ 1])]
    for data in torn:
        path.write_bytes(data)
        assert not interrupted(project), data
    path.write_bytes(whole + b"what a longer one left behind")
    assert interrupted(project)
    queue.note_event(project, QueueResumed(ts=now, actor="user"))
    assert _copies(project) == ["running"]


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


def test_a_folder_in_the_place_of_a_file_is_set_aside_and_stops_nothing(
    project: Project, now: datetime
) -> None:
    task = submit(project, now)
    place = project.task_file(project.running, "1")
    for _ in range(2):
        place.mkdir()
        (place / "a").touch()
        claim(project, task, now)
        queue.give_back(
            project, locate(project, "1", now).task,
            rules.retried(locate(project, "1", now).task, "silent", None, now),
            retry=True, note=None,
        )  # fmt: skip
        task = locate(project, "1", now).task
    assert not interrupted(project)
    assert sorted(p.name for p in project.invalid.iterdir() if p.is_dir()) == [
        "running.0001.json", "running.0001.json.1",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["../outside", "queue/../../outside", "/ROOT/outside", "link/x"])
def test_what_was_begun_by_others_reaches_nothing_outside(
    project: Project, now: datetime, name: str
) -> None:
    (project.ai / "link").symlink_to(project.root)
    name = name.replace("/ROOT", str(project.root))
    for intent in ({"puts": [[name, "eA==", False]]}, {"removes": [name]}):
        body = json.dumps(intent).encode()
        (project.root / "x").write_text("mine")
        head = b"%010d %08x\n" % (len(body), zlib.crc32(body))
        (project.state / "intent").write_bytes(head + body)
        submit(project, now)
        assert (project.root / "x").read_text() == "mine"
        assert not (project.root / "outside").exists()
