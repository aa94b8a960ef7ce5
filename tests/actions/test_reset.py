"""Beginning anew: what has ended goes out of sight, and is neither lost nor done twice."""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from loop.actions.reset import outlook, reset
from loop.core.task import TaskFields
from loop.errors import WrongState
from loop.store import queue, timeline
from loop.store.archive import log_of
from loop.store.dependencies import graph_of
from loop.store.ids import next_id
from loop.store.imports import imported_ids
from loop.store.journal import transition
from loop.store.locks import FileLock
from loop.store.paths import Project
from loop.store.scan import QueueScan, ids_in, locate
from tests.crashing import killed_before_change
from tests.tasks import claim, settle, submit


def _end(project: Project, now: datetime, status: Any = "success", **fields: Any) -> str:
    task = settle(project, claim(project, submit(project, now, **fields), now), now, status)
    project.log(task.id).write_text("the log\n")
    return task.id


def _queued(project: Project, now: datetime, *needs: str, **fields: Any) -> str:
    text = f"task {len(list(project.ai.rglob('0*.json')))}"
    return submit(project, now, text, depends_on=list(needs), **fields).id


def _events(project: Project) -> Counter[str]:
    return Counter(event["event"] for event in timeline.read_from(project.timeline, 0)[0])


def test_what_has_ended_or_is_blocked_goes_and_what_waits_or_asks_stays(
    project: Project, now: datetime
) -> None:
    done, failed = _end(project, now, text="a"), _end(project, now, "failure", text="b")
    asks = _end(project, now, "needs_input", text="c")
    ready, waits = _queued(project, now, done), _queued(project, now, asks)
    blocked = _queued(project, now, failed)
    outcome = reset(project, now, hard=False)
    assert set(ids_in(project.queue)) == {ready, waits}
    assert ids_in(project.completed) == [asks]
    assert (outcome.cleared, outcome.cancelled, outcome.asking) == (
        [done, failed],
        [blocked],
        [asks],
    )
    assert locate(project, blocked, now).result.reason == "cancelled"  # type: ignore[union-attr]
    assert _events(project)["queue_reset"] == 1
    assert not project.log(done).exists()
    assert log_of(project, done).read_text() == "the log\n"


def test_a_success_that_was_put_away_still_counts_and_so_does_a_failure(
    project: Project, now: datetime
) -> None:
    done = _end(project, now)
    ready = _queued(project, now, done)
    reset(project, now, hard=False)
    failed = _end(project, now, "failure", text="later")
    late = _queued(project, now, done)
    reset(project, now, hard=False)
    blocked = _queued(project, now, failed)
    graph = graph_of(project, QueueScan(project, lambda: now).look().tasks, now)
    assert graph.is_ready(ready)
    assert graph.is_ready(late)
    assert (graph.standing(blocked).state, graph.standing(blocked).cause) == ("blocked", failed)


def test_no_id_is_given_again_though_the_counter_is_lost(project: Project, now: datetime) -> None:
    last = [_end(project, now, text=text) for text in "abc"][-1]
    reset(project, now, hard=True)
    (project.state / "next_id").unlink()
    with transition(project):
        assert int(next_id(project)) == int(last) + 1


def test_what_was_put_away_runs_again_when_it_is_requeued(project: Project, now: datetime) -> None:
    task_id = _end(project, now, "failure")
    reset(project, now, hard=False)
    queue.requeue(
        project, task_id, TaskFields(), "again", "user", now, from_user=True, max_requeues=0
    )
    located = locate(project, task_id, now)
    assert (located.state, located.task.run) == ("queued", 2)
    assert project.log(task_id).read_text() == "the log\n"
    settle(project, claim(project, located.task, now), now)
    assert locate(project, task_id, now).state == "success"
    reset(project, now, hard=False)
    assert locate(project, task_id, now).state == "success", "the later of two archived results"


def test_parts_of_a_task_stay_together_while_one_of_them_can_run(
    project: Project, now: datetime
) -> None:
    parent = submit(project, now, "all").id
    first, second = (submit(project, now, t, parent=parent) for t in ("a", "b"))
    settle(project, claim(project, first, now), now, "failure")
    reset(project, now, hard=False)
    assert ids_in(project.completed) == [first.id]
    settle(project, claim(project, second, now), now)
    outcome = reset(project, now, hard=False)
    assert set(outcome.cleared) == {parent, first.id, second.id}
    assert locate(project, parent, now).state == "failure"


def test_hard_leaves_nothing_and_ends_what_waited_as_cancelled(
    project: Project, now: datetime
) -> None:
    ids = {_end(project, now, "needs_input"), _queued(project, now), _queued(project, now)}
    (project.queue / "0050.json").write_text('{"instructions": "dropped"}')
    reset(project, now, hard=True)
    assert not ids_in(project.queue)
    assert not ids_in(project.completed)
    assert {locate(project, i, now).state for i in ids} == {"needs_input", "failure"}
    told = [e for e in timeline.last(project.timeline, 9) if e.get("task_id") == "50"]
    assert [e["event"] for e in told] == ["task_queued", "task_cancelled"]


def test_a_living_run_is_never_touched(project: Project, now: datetime) -> None:
    done = _end(project, now)
    task = claim(project, submit(project, now, "runs"), now)
    log = FileLock(project.log(task.id))
    assert log.try_acquire()
    try:
        with pytest.raises(WrongState, match=f"task {task.id} is running: cancel_task it first"):
            reset(project, now, hard=True)
    finally:
        log.release()
    assert ids_in(project.completed) == [done]
    owner = FileLock(project.worker_lock)
    assert owner.try_acquire()
    with pytest.raises(WrongState, match="a worker is about to go on"):
        reset(project, now, hard=False)
    owner.release()


def test_a_claimed_task_that_nobody_has_in_hand_waits_again(
    project: Project, now: datetime
) -> None:
    task = claim(project, submit(project, now), now)
    outcome = reset(project, now, hard=False)
    located = locate(project, task.id, now)
    assert outcome.put_back == [task.id]
    assert (located.state, located.task.runs, ids_in(project.running)) == ("queued", [], [])


def test_a_run_that_a_crash_cut_off_waits_again(project: Project, now: datetime) -> None:
    task = claim(project, submit(project, now, max_attempts=1), now)
    line = {"type": "loop", "run": task.runs[-1].uuid, "event": "started"}
    project.log(task.id).write_text(json.dumps(line, separators=(",", ":")) + "\n")
    assert reset(project, now, hard=False).put_back == [task.id]
    assert locate(project, task.id, now).state == "queued"
    assert _events(project)["run_started"] == 1


def test_a_second_reset_has_nothing_to_do_and_says_nothing(project: Project, now: datetime) -> None:
    _end(project, now)
    reset(project, now, hard=False)
    assert reset(project, now, hard=False).folder is None
    assert len(list(project.archive.iterdir())) == 1
    assert _events(project)["queue_reset"] == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_reset_killed_at_any_step_is_finished_by_the_next(
    tmp_path_factory: pytest.TempPathFactory, now: datetime
) -> None:
    killed = True
    for number in count(1):
        project = Project(tmp_path_factory.mktemp("p").resolve())
        for folder in project.folders():
            folder.mkdir(parents=True)
        done = _end(project, now)
        failed = _end(project, now, "failure", text="b")
        blocked, ready = _queued(project, now, failed), _queued(project, now, done)
        killed = killed_before_change(
            number,
            project.ai,
            lambda p=project: reset(p, now, hard=False),  # type: ignore[misc]
        )
        reset(project, now, hard=False)
        states = {i: locate(project, i, now).state for i in (done, failed, blocked, ready)}
        expected = {done: "success", failed: "failure", blocked: "failure", ready: "queued"}
        assert states == expected, number
        assert (ids_in(project.queue), ids_in(project.completed)) == ([ready], []), number
        assert _events(project)["task_cancelled"] == 1, number
        assert sorted(_logs(project)) == ["0001.log", "0002.log"], number
        if not killed:
            break
    assert number > 15


def _logs(project: Project) -> list[str]:
    return [path.name for path in Path(project.ai).rglob("*.log")]


def test_an_import_knows_what_it_took_in_before_a_reset(project: Project, now: datetime) -> None:
    task = submit(project, now, imported_id="F001")
    reset(project, now, hard=True)
    assert imported_ids(project) == {"F001": task.id}


@pytest.mark.parametrize("hard", [False, True])
def test_what_a_reset_would_do_is_what_it_does(project: Project, now: datetime, hard: bool) -> None:
    parent = _queued(project, now)
    submit(project, now, "part", parent=parent)
    settle(project, claim(project, locate(project, "1.1", now).task, now), now)
    blocked = _queued(project, now, _end(project, now, "failure", text="bad"))
    before = outlook(project, now, hard=hard)
    after = reset(project, now, hard=hard)
    assert before.cleared == after.cleared == [parent, "1.1", "2"]
    assert before.cancelled == after.cancelled == [blocked]
