from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from loop.core.task import Task, encode, task_dict
from loop.errors import BadInput, NotFound
from loop.store.intake import invalid_files, set_aside_running, take_in, waiting_misfit
from loop.store.paths import Project
from loop.store.scan import QUIET_S, QueueScan, QueueView, locate
from loop.store.timeline import last
from tests.tasks import claim, settle, submit


class Looker:
    """A scan with a clock that the test sets."""

    def __init__(self, project: Project, now: datetime) -> None:
        self.project, self.now = project, now
        self.clock = 100.0
        self._scan = QueueScan(project, lambda: now, lambda: self.clock)

    def look(self, later_s: float = 0.0) -> QueueView:
        self.clock += later_s
        return self._scan.look()

    def take_in(self, later_s: float = 0.0) -> bool:
        return take_in(self.project, self.look(later_s), self.now)


@pytest.fixture
def looker(project: Project, now: datetime) -> Looker:
    return Looker(project, now)


def drop(project: Project, name: str, **fields: Any) -> Path:
    path = project.queue / name
    path.write_bytes(json.dumps({"instructions": "Do it", **fields}).encode())
    return path


def test_a_dropped_task_becomes_ours_and_its_own_keys_stay(
    looker: Looker, project: Project
) -> None:
    path = drop(project, "0007.json", x_team="a", id=99)
    assert looker.look().dropped == ["7"]
    assert looker.take_in()
    written = json.loads(path.read_bytes())
    assert (written["id"], written["run"], written["x_team"]) == ("7", 1, "a")
    (event,) = last(project.timeline, 9)
    assert (event["event"], event["task_id"], event["actor"]) == ("task_queued", "7", "user")
    assert not looker.take_in()
    assert looker.look().dropped == []


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "run"}, {"scripts": {"run": "npm start"}}, {"instructions": ["run"]},
        {"run": None}, {"run": 1, "id": "6"},
    ],
)  # fmt: skip
def test_a_dropped_task_that_speaks_of_a_run_is_taken_in_like_any_other(
    looker: Looker, project: Project, fields: dict[str, Any]
) -> None:
    drop(project, "0007.json", **fields)
    assert looker.look().dropped == ["7"]
    assert looker.take_in()
    assert looker.look().dropped == []
    assert [event["event"] for event in last(project.timeline, 9)] == ["task_queued"]


def test_a_half_written_file_is_waited_for_and_taken_when_it_is_whole(
    looker: Looker, project: Project
) -> None:
    path = project.queue / "0007.json"
    path.write_bytes(b'{"instructions": "Do')
    view = looker.look()
    assert waiting_misfit(view)
    path.write_bytes(b'{"instructions": "Do it", "ti')
    assert waiting_misfit(looker.look(QUIET_S - 0.1))
    assert waiting_misfit(looker.look(QUIET_S - 0.1))
    path.write_bytes(b'{"instructions": "Do it", "title": "T"}')
    assert looker.take_in(QUIET_S - 0.1)
    assert looker.look().tasks["7"].title == "T"
    assert invalid_files(project) == []


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("0007.json", b"", "the file is empty"),
        ("0007.json", b'{"instructions": "x"', "not valid JSON"),
        ("0007.json", b'{"title": "x"}', "instructions: is required"),
        ("0007.json", b'{"instructions": "x", "priority": "urgent"}', "priority: "),
        ("0007.json", b"[" * 99_999, "nested too deeply"),
        ("7.json", b'{"instructions": "x"}', "wrong name: name it 0007.json"),
        ("0042.01.json", b'{"instructions": "x"}', "wrong name: name it 0042.1.json"),
        ("todo.json", b'{"instructions": "x"}', "wrong name: a task's name is a number"),
        ("x" * 240 + ".json", b"{}", "wrong name: "),
        ("0000.json", b'{"instructions": "x"}', "wrong name: "),
    ],
)
def test_a_file_that_stays_wrong_is_set_aside_with_its_reason(
    looker: Looker, project: Project, name: str, data: bytes, reason: str
) -> None:
    (project.queue / name).write_bytes(data)
    assert not looker.take_in()
    assert looker.take_in(QUIET_S)
    assert list(project.queue.iterdir()) == []
    ((kept, why),) = invalid_files(project)
    assert reason in why
    assert (project.invalid / kept).read_bytes() == data


def test_nothing_in_the_folder_of_misfits_is_replaced(looker: Looker, project: Project) -> None:
    for n in range(3):
        (project.queue / "7.json").write_bytes(b"%d" % n)
        looker.take_in()
        looker.take_in(QUIET_S)
    kept = {p.read_bytes() for p in project.invalid.iterdir() if p.suffix != ".reason"}
    assert kept == {b"0", b"1", b"2"}
    assert len(invalid_files(project)) == 3


@pytest.mark.parametrize("state", ["running", "success", "unreadable"])
def test_an_id_that_exists_makes_the_newcomer_invalid(
    looker: Looker, project: Project, now: datetime, state: str
) -> None:
    task = claim(project, submit(project, now, "first"), now)
    if state != "running":
        settle(project, task, now)
    if state == "unreadable":
        (project.completed / "0001.json").write_bytes(b"{")
    drop(project, "0001.json", instructions="second")
    assert looker.take_in()
    assert list(project.queue.iterdir()) == []
    ((name, reason),) = invalid_files(project)
    assert name == "0001.json"
    assert "the id 1 exists already" in reason
    if state != "unreadable":
        assert locate(project, "1", now).task.instructions == ["first"]


def test_a_folder_named_like_a_task_is_named_and_left_alone(
    looker: Looker, project: Project
) -> None:
    (project.queue / "0007.json").mkdir()
    (project.queue / "0008.json").symlink_to(project.root / "nowhere")
    assert {m.reason for m in looker.look().misfits} == {"is not a file"}
    assert not looker.take_in(QUIET_S)
    assert not waiting_misfit(looker.look())
    assert len(list(project.queue.iterdir())) == 2


def test_bad_files_never_hide_a_good_one(looker: Looker, project: Project) -> None:
    (project.queue / "0001.json").write_bytes(b"\xff\xfe")
    (project.queue / "0002.json").mkdir()
    (project.queue / "nonsense.json").write_bytes(b"{}")
    (project.queue / "0004.json").write_bytes(b'{"a":' * 5000)
    drop(project, "0005.json")
    assert looker.look().dropped == ["5"]
    looker.take_in()
    looker.take_in(QUIET_S)
    assert list(looker.look().tasks) == ["5"]
    assert len(invalid_files(project)) == 3


@pytest.mark.parametrize(
    "name",
    [".0007.json.swp", ".0007.json", "0007.json~", "#0007.json#", "0007.json.tmp", ".DS_Store",
     ".0007.json.123.tmp", "4913", "Thumbs.db", "0007.json.bak"],
)  # fmt: skip
def test_what_editors_leave_behind_is_neither_task_nor_misfit(
    looker: Looker, project: Project, name: str
) -> None:
    (project.queue / name).write_bytes(b"junk")
    view = looker.look(QUIET_S)
    assert (view.tasks, view.misfits) == ({}, [])
    looker.take_in(QUIET_S)
    assert (project.queue / name).exists()


def test_a_queue_that_is_gone_is_empty(looker: Looker, project: Project) -> None:
    project.queue.rmdir()
    assert looker.look().tasks == {}


def put(project: Project, folder: Path, task: Task) -> None:
    data = task_dict(task)
    if folder == project.completed:
        data = {
            "task_id": task.id, "status": "failure", "summary": "s",
            "completed_at": "2026-07-23T10:00:00Z", "task": data,
        }  # fmt: skip
    project.task_file(folder, task.id).write_bytes(encode(data))


@pytest.mark.parametrize(
    ("queued", "running", "completed", "state"),
    [
        (1, None, None, "queued"), (None, 1, None, "running"), (None, None, 1, "failure"),
        (1, 1, None, "running"), (1, 1, 1, "failure"), (None, 1, 1, "failure"),
        (2, 1, None, "queued"), (2, None, 1, "queued"), (2, 2, 1, "running"), (2, 1, 1, "queued"),
    ],
)  # fmt: skip
def test_of_two_copies_the_higher_run_wins_and_then_the_later_folder(
    project: Project,
    now: datetime,
    queued: int | None,
    running: int | None,
    completed: int | None,
    state: str,
) -> None:
    for run, folder in (
        (queued, project.queue), (running, project.running), (completed, project.completed),
    ):  # fmt: skip
        if run is not None:
            put(project, folder, Task(id="1", instructions=["x"], created_at=now, run=run))
    assert locate(project, "1", now).state == state


def test_a_task_that_is_not_there_and_an_id_that_is_none_are_told_apart(
    project: Project, now: datetime
) -> None:
    with pytest.raises(NotFound, match=r"no task 7 in .*list_tasks"):
        locate(project, "0007", now)
    with pytest.raises(BadInput, match="is not a task id"):
        locate(project, "../../secret", now)


def test_an_unreadable_record_is_kept_among_the_misfits(project: Project) -> None:
    (project.running / "0003.json").write_bytes(b"torn")
    set_aside_running(project, "0003.json", "not valid JSON")
    assert not (project.running / "0003.json").exists()
    assert invalid_files(project) == [("running.0003.json", "not valid JSON")]
