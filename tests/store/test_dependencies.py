"""Dependencies against the folders."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from loop.core.task import Task, TaskFields, encode, task_dict
from loop.errors import BadInput
from loop.store import dependencies, queue, timeline
from loop.store.dependencies import graph_of, is_ready, note_blocked
from loop.store.paths import Project
from loop.store.scan import QueueScan, locate
from tests.tasks import claim, settle


def _submit(project: Project, now: datetime, text: str, *needs: str) -> str:
    fields = {"instructions": text, "depends_on": list(needs)}
    return queue.submit(project, fields, "user", now).task.id


def test_a_dependency_that_is_not_there_is_refused_and_nothing_is_queued(
    project: Project, now: datetime
) -> None:
    for need in ("9", "1"):  # 1 would be the new one itself
        with pytest.raises(BadInput, match=rf"depends_on\[0\]: there is no task {need}"):
            _submit(project, now, "x", need)
    assert list(project.queue.iterdir()) == []


def test_an_edit_that_closes_a_ring_is_refused_with_the_ring(
    project: Project, now: datetime
) -> None:
    _submit(project, now, "a")
    _submit(project, now, "b", "1")
    with pytest.raises(BadInput, match="1 → 2 → 1"):
        queue.edit(project, "1", TaskFields(depends_on=["2"]), "user", now)
    with pytest.raises(BadInput, match="1 → 1"):
        queue.edit(project, "1", TaskFields(depends_on=["1"]), "user", now)


def test_an_edit_may_drop_and_reorder_what_it_likes(project: Project, now: datetime) -> None:
    _submit(project, now, "a")
    _submit(project, now, "b")
    _submit(project, now, "c", "1", "2")
    queue.edit(project, "3", TaskFields(depends_on=["2", "1"]), "user", now)
    queue.edit(project, "3", TaskFields(depends_on=[]), "user", now)
    queue.edit(project, "1", TaskFields(depends_on=["3"]), "user", now)


def test_a_requeue_that_closes_a_ring_is_refused_with_the_ring(
    project: Project, now: datetime
) -> None:
    _submit(project, now, "a")
    settle(project, claim(project, locate(project, "1", now).task, now), now)
    _submit(project, now, "b", "1")
    with pytest.raises(BadInput, match="1 → 2 → 1"):
        _requeue(project, now, depends_on=["2"])
    with pytest.raises(BadInput, match="there is no task 9"):
        _requeue(project, now, depends_on=["9"])
    assert locate(project, "1", now).state == "success"


def _requeue(project: Project, now: datetime, **fields: Any) -> None:
    queue.requeue(project, "1", TaskFields(**fields), None, "user", now, max_requeues=9)


def test_a_new_task_reads_no_more_than_whether_its_dependencies_are_there(
    project: Project, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    _submit(project, now, "a")
    _submit(project, now, "b", "1")
    _submit(project, now, "parent", "2")
    read: list[str] = []
    monkeypatch.setattr(dependencies, "read_task", lambda path, *_: read.append(path.name))
    _submit(project, now, "c", "3")
    for needs in ([], ["4.1"]):
        fields = {"instructions": f"on {needs}", "parent": "4", "depends_on": needs}
        queue.submit(project, fields, "user", now)
    assert read == []


def test_a_chain_of_a_thousand_is_followed_to_its_end(project: Project, now: datetime) -> None:
    for number in range(1, 1001):
        needs = [str(number - 1)] if number > 1 else []
        task = Task(id=str(number), instructions=["x"], created_at=now, depends_on=needs)
        project.task_file(project.queue, task.id).write_bytes(encode(task_dict(task)))
    with pytest.raises(BadInput, match=r"1 → 1000 → 999 → .* → … 981 more … → .* → 2 → 1$"):
        queue.edit(project, "1", TaskFields(depends_on=["1000"]), "user", now)


def test_ready_by_the_files_is_ready_by_the_graph(project: Project, now: datetime) -> None:
    _submit(project, now, "a")
    _submit(project, now, "parent", "1")
    queue.submit(project, {"instructions": "x", "parent": "2"}, "user", now)
    _submit(project, now, "b", "2")
    for ready in ("1", "2.1", "3"):
        tasks = QueueScan(project, lambda: now).look().tasks
        graph = graph_of(project, tasks, now)
        assert [i for i in tasks if graph.is_ready(i)] == [ready]
        assert [i for i, task in tasks.items() if is_ready(project, task, now)] == [ready]
        settle(project, claim(project, tasks[ready], now), now)


def test_a_block_is_told_once_and_again_when_it_comes_back(project: Project, now: datetime) -> None:
    def told() -> int:
        return sum(e["event"] == "task_blocked" for e in timeline.last(project.timeline, 50))

    assert note_blocked(project, {"2": "1"}, now)
    assert not note_blocked(project, {"2": "1"}, now)
    assert told() == 1
    note_blocked(project, {}, now)
    assert note_blocked(project, {"2": "1"}, now)
    assert told() == 2


def test_a_second_cause_is_told_too_and_the_first_not_again(
    project: Project, now: datetime
) -> None:
    for cause in ("5", "3", "5"):
        note_blocked(project, {"7": cause}, now)
    told = [e["cause"] for e in timeline.last(project.timeline, 50)]
    assert told == ["5", "3"]
