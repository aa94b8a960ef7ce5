from __future__ import annotations

import multiprocessing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from loop.core import transition as rules
from loop.core.event import TaskCancelled
from loop.core.task import TaskFields
from loop.errors import BadInput, NotFound, WrongState
from loop.store import queue, run_files, timeline
from loop.store.paths import Project
from loop.store.scan import ids_in, locate
from tests.tasks import claim, settle, submit


def send(project: Project, now: datetime, **fields: Any) -> queue.Submitted:
    return queue.submit(project, {"instructions": ["Do it"], **fields}, "architect", now)


def told(project: Project) -> list[str]:
    return [event["event"] for event in timeline.read_from(project.timeline, 0)[0]]


def test_a_task_goes_its_way_through_the_folders(project: Project, now: datetime) -> None:
    task = submit(project, now)
    assert locate(project, task.id, now).state == "queued"
    running = claim(project, task, now)
    assert locate(project, task.id, now).state == "running"
    assert ids_in(project.queue) == []
    for suffix in run_files.SUFFIXES:
        project.run_file(task.id, suffix).write_bytes(b"")
    settle(project, running, now)
    located = locate(project, task.id, now)
    assert (located.state, located.task.runs[0].status) == ("success", "success")
    assert list(project.running.iterdir()) == []
    assert told(project) == ["task_queued", "run_started", "run_completed"]


def test_a_run_given_back_leaves_nothing_in_running(project: Project, now: datetime) -> None:
    task = claim(project, submit(project, now), now)
    event = rules.paused(task, "login", "r", None, now, tries=0)
    queue.give_back(project, task, event, retry=False, note=None)
    assert list(project.running.iterdir()) == []
    assert locate(project, "1", now).task.run == 2
    assert told(project)[-1] == "queue_paused"


def test_a_claim_of_a_task_that_is_gone_taken_or_another_run_is_none(
    project: Project, now: datetime
) -> None:
    task = submit(project, now)
    run = rules.new_run(task, "u", now)
    claim(project, task, now)
    assert queue.claim(project, "1", run, now) is None
    other = submit(project, now, "other")
    late = rules.new_run(rules.give_back(other, retry=False, note=None), "u", now)
    assert queue.claim(project, other.id, late, now) is None
    project.task_file(project.queue, other.id).unlink()
    assert queue.claim(project, other.id, rules.new_run(other, "u", now), now) is None


def test_the_same_key_and_content_is_the_same_task_for_ever(
    project: Project, now: datetime
) -> None:
    first = send(project, now, key="k")
    again = send(project, now, key="k")
    assert (again.task.id, again.note) == (first.task.id, "this key was sent before")
    settle(project, claim(project, first.task, now), now)
    assert send(project, now, key="k").task.id == first.task.id
    assert told(project).count("task_queued") == 1


@pytest.mark.parametrize("change", [{"instructions": ["Other"]}, {"notes": "n"}, {"priority": 1}])
def test_the_same_key_with_another_content_is_an_error(
    project: Project, now: datetime, change: dict[str, Any]
) -> None:
    send(project, now, key="k")
    with pytest.raises(BadInput, match=r"^key: 'k' was used for task 1; take another key"):
        send(project, now, key="k", **change)
    assert ids_in(project.queue) == ["1"]


def test_what_is_identical_to_a_waiting_task_is_that_task(project: Project, now: datetime) -> None:
    task = send(project, now).task
    assert send(project, now).note == "the same task is queued already"
    running = claim(project, task, now)
    again = send(project, now)
    assert (again.task.id, again.note) == (task.id, "the same task is running already")
    settle(project, running, now)
    assert send(project, now).task.id == "2"


@pytest.mark.parametrize(
    "change", [{"notes": "n"}, {"target": "src"}, {"acceptance": ["make"]}, {"max_turns": 3}]
)
def test_what_differs_in_any_field_is_another_task(
    project: Project, now: datetime, change: dict[str, Any]
) -> None:
    send(project, now)
    assert send(project, now, **change).task.id == "2"


def test_identity_follows_an_edit_and_a_requeue(project: Project, now: datetime) -> None:
    send(project, now)
    queue.edit(project, "1", TaskFields(title="T"), "user", now)
    assert send(project, now, title="T").task.id == "1"
    queue.edit(project, "1", TaskFields(title="T"), "user", now)
    assert send(project, now, title="T").task.id == "1"
    settle(project, claim(project, locate(project, "1", now).task, now), now, "failure")
    queue.requeue(project, "1", TaskFields(), "g", "architect", now, max_requeues=3)
    assert send(project, now, title="T").task.id == "1"
    assert send(project, now).task.id == "2"


def test_a_task_with_a_key_of_its_own_does_not_hide_its_twin(
    project: Project, now: datetime
) -> None:
    send(project, now)
    send(project, now, key="k")
    queue.cancel_queued(project, "1", "user", now)
    assert send(project, now).task.id == "2"


@pytest.mark.parametrize("damage", ["file gone", "note empty"])
def test_a_note_about_a_task_that_is_no_more_stops_nobody(
    project: Project, now: datetime, damage: str
) -> None:
    send(project, now)
    send(project, now, key="k")
    for path in (project.state / "sent").iterdir():
        path.write_bytes(b"" if damage == "note empty" else path.read_bytes())
    if damage == "file gone":
        for path in project.queue.iterdir():
            path.unlink()
    new = send(project, now)
    assert new.note is None
    assert new.task.id == "3"
    assert send(project, now, key="k").note is None


def test_only_a_queued_task_can_be_edited(project: Project, now: datetime) -> None:
    task = submit(project, now)
    claim(project, task, now)
    with pytest.raises(WrongState, match="task 1 is running"):
        queue.edit(project, "1", TaskFields(title="T"), "user", now)
    with pytest.raises(NotFound):
        queue.edit(project, "9", TaskFields(title="T"), "user", now)


def test_cancelling_twice_is_cancelling_once(project: Project, now: datetime) -> None:
    submit(project, now)
    first = queue.cancel_queued(project, "1", "user", now)
    second = queue.cancel_queued(project, "1", "user", now)
    assert first.state == second.state == "failure"
    assert second.result is not None
    assert second.result.reason == "cancelled"
    assert told(project) == ["task_queued", "task_cancelled"]


def test_a_run_is_asked_to_end_once_and_not_after_its_end(project: Project, now: datetime) -> None:
    task = claim(project, submit(project, now), now)
    event = TaskCancelled(ts=now, actor="user", task_id="1", run=1)
    assert queue.request_cancel(project, task, "cancelled", event)
    assert not queue.request_cancel(project, task, "cancelled", event)
    settle(project, task, now)
    assert not queue.request_cancel(project, task, "cancelled", event)
    assert told(project).count("task_cancelled") == 1
    assert not project.run_file("1", "cancel").exists()


def test_the_architect_requeues_only_so_often_and_the_person_starts_the_count_anew(
    project: Project, now: datetime
) -> None:
    def again(*, from_user: bool = False) -> int:
        task = queue.requeue(
            project, "1", TaskFields(), "g", "architect", now, from_user=from_user, max_requeues=2
        )
        settle(project, claim(project, task, now), now, "failure")
        return task.requeues

    settle(project, claim(project, submit(project, now), now), now, "failure")
    assert [again(), again()] == [1, 2]
    with pytest.raises(WrongState, match=r"requeued 2 times .*escalate_to_user"):
        again()
    assert locate(project, "1", now).state == "failure"
    assert [again(from_user=True), again()] == [0, 1]


def _claim_all(root: Path, start: Any, taken: Any) -> None:
    project, now = Project(root), datetime(2026, 7, 23, tzinfo=UTC)
    start.wait(30)
    mine = []
    for task_id in ids_in(project.queue):
        try:
            task = locate(project, task_id, now).task
        except NotFound:
            continue
        run = rules.new_run(task, f"{multiprocessing.current_process().name}-{task_id}", now)
        if task.run == 1 and not task.runs and queue.claim(project, task_id, run, now):
            mine.append(task_id)
    taken.put(mine)


def test_of_eight_processes_exactly_one_claims_each_of_a_hundred_tasks(
    project: Project, now: datetime
) -> None:
    ids = [submit(project, now, f"task {n}").id for n in range(100)]
    context = multiprocessing.get_context("fork")
    start, taken = context.Event(), context.Queue()
    workers = [
        context.Process(target=_claim_all, args=(project.root, start, taken)) for _ in range(8)
    ]
    for worker in workers:
        worker.start()
    start.set()
    claimed = [task_id for _ in workers for task_id in taken.get(timeout=30)]
    for worker in workers:
        worker.join(10)
    assert sorted(claimed, key=int) == ids
    assert told(project).count("run_started") == 100
    assert (ids_in(project.queue), len(ids_in(project.running))) == ([], 100)


def test_a_task_that_is_cancelled_before_it_runs_has_cost_what_its_earlier_runs_did(
    project: Project, now: datetime
) -> None:
    send(project, now)
    never = queue.cancel_queued(project, "1", "user", now).result
    assert never is not None and never.cost_usd == 0.0
    queue.requeue(project, "1", TaskFields(), None, "user", now, max_requeues=9)
    settle(project, claim(project, locate(project, "1", now).task, now), now, "failure")
    queue.requeue(project, "1", TaskFields(), None, "user", now, max_requeues=9)
    once = queue.cancel_queued(project, "1", "user", now).result
    assert once is not None and once.cost_usd == 0.5
