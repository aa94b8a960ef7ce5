"""What the Architect is told: each ending once, also when a call for it is cut off."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from loop.actions.observer import Answer, Observer
from loop.builder.permissions import approve
from loop.service.tools.arguments import Check, QueueTask
from loop.service.tools.toolbox import Toolbox
from loop.service.wakeups import Wakeups
from loop.service.worker import utc_now
from loop.store import queue
from loop.store.intake import take_in
from loop.store.locks import FileLock
from loop.store.paths import Project
from loop.store.pauses import pause_for, resume
from loop.store.project_files import read_pause
from loop.store.scan import QueueScan
from tests.tasks import claim, settle, submit


def toolbox(project: Project) -> Toolbox:
    return Toolbox(project, Wakeups(), {"PATH": "/nonexistent"})


async def call(tools: Toolbox, name: str, arguments: Struct) -> dict[str, Any]:
    (tool,) = [tool for tool in tools.tools(read_only=False) if tool.name == name]
    return await tool.run(arguments)


def test_a_look_whose_answer_was_never_given_has_told_nothing(
    project: Project, now: datetime
) -> None:
    observer = Observer(project, {})
    settle(project, claim(project, submit(project, now), now), now)
    observer.look(now)  # its caller was cancelled meanwhile
    answer = observer.look(now)
    assert answer.data["state"] == "success", answer.data
    observer.delivered(answer)
    assert observer.look(now).data["state"] != "success"


async def test_sending_the_same_again_does_not_take_the_result_for_told(project: Project) -> None:
    tools = toolbox(project)
    sent = QueueTask(instructions="Do it", key="k")
    await call(tools, "queue_task", sent)
    task = claim(project, submit(project, utc_now(), key="k"), utc_now())
    settle(project, task, utc_now())
    again = await call(tools, "queue_task", sent)
    assert (again["id"], again["state"]) == ("1", "success")
    seen = await call(tools, "check_builder_status", Check(wait_seconds=0))
    assert [result["task_id"] for result in seen.get("results", [])] == ["1"]


async def test_a_task_sent_again_is_queued_though_nothing_can_run(project: Project) -> None:
    tools = toolbox(project)
    await call(tools, "queue_task", QueueTask(instructions="Do it"))
    assert (await call(tools, "queue_task", QueueTask(instructions="Do it")))["state"] == "queued"


async def test_broken_settings_keep_no_result_from_the_architect(
    project: Project, now: datetime
) -> None:
    tools = toolbox(project)
    settle(project, claim(project, submit(project, now), now), now)
    project.config.write_text("{")
    assert (await call(tools, "check_builder_status", Check(task_id="1")))["state"] == "success"


@pytest.mark.parametrize("kind", ["no_claude", "login"])
async def test_a_pause_that_the_worker_is_about_to_lift_does_not_end_the_turn(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    project.builder_settings.write_text("{}")
    project.config.write_text(json.dumps({"builder": {"command": "/bin/true"}}))
    approve(project)
    now = utc_now()
    until = None if kind == "no_claude" else now - timedelta(minutes=1)
    pause_for(project, kind, "as it was", until, now - timedelta(hours=1))
    submit(project, now)
    lock = FileLock(project.worker_lock)
    assert lock.try_acquire()
    look_at = Observer.look_at

    def look_before_it_is_lifted(observer: Observer, task_id: str, now: datetime) -> Answer:
        answer = look_at(observer, task_id, now)
        resume(project, "builder", now)
        return answer

    monkeypatch.setattr(Observer, "look_at", look_before_it_is_lifted)
    tools = Toolbox(project, Wakeups(), {"PATH": "/bin"})
    seen = await call(tools, "check_builder_status", Check(task_id="1", wait_seconds=0))
    lock.release()
    assert seen["state"] == "queued", seen


async def test_a_queue_of_blocked_tasks_alone_ends_the_turn_and_says_why(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    project.builder_settings.write_text("{}")
    project.config.write_text(json.dumps({"builder": {"command": "/bin/true"}}))
    approve(project)
    now = utc_now()
    failed = settle(project, claim(project, submit(project, now), now), now, "failure")
    later = submit(project, now, "later", depends_on=[failed.id])
    tools = Toolbox(project, Wakeups(), {"PATH": "/bin"})
    lock = FileLock(project.worker_lock)
    assert lock.try_acquire()
    seen = await call(tools, "check_builder_status", Check(wait_seconds=25))
    assert (seen["state"], seen["waiting"]) == ("blocked", 1)
    assert f"{later.id} is blocked by {failed.id}" in seen["reason"]
    asks = settle(project, claim(project, submit(project, now, "q"), now), now, "needs_input")
    near = submit(project, now, "near", depends_on=[asks.id])
    far = submit(project, now, "far", depends_on=[near.id])
    seen = await call(tools, "check_builder_status", Check(task_id=far.id, wait_seconds=25))
    assert (seen["state"], seen["waits_for"]) == ("queued", [near.id])
    assert f"{asks.id} asks" in seen["reason"]
    submit(project, now, "ready")
    await call(tools, "check_builder_status", Check(wait_seconds=0))
    seen = await call(tools, "check_builder_status", Check(wait_seconds=0))
    lock.release()
    assert (seen["state"], seen["next"]) == ("queued", "call again")


def test_progress_is_told_though_the_log_was_removed(project: Project, now: datetime) -> None:
    observer = Observer(project, {})
    task = claim(project, submit(project, now), now)
    uuid = task.runs[-1].uuid
    project.log("1").write_text(f'{{"type":"loop","run":"{uuid}","event":"started"}}\n')
    observer.look_at("1", now)
    project.log("1").unlink()
    assert observer.look_at("1", now).data["state"] == "running"


def test_a_dropped_task_is_known_when_the_same_is_sent(project: Project, now: datetime) -> None:
    (project.queue / "0001.json").write_text('{"instructions": "Do it"}')
    scan = QueueScan(project, lambda: now)
    take_in(project, scan.look(), now)
    sent = queue.submit(project, {"instructions": ["Do it"]}, "architect", now)
    assert (sent.task.id, sent.note) == ("1", "the same task is queued already")


async def test_a_cancelled_task_that_was_told_of_by_its_id_is_not_told_again(
    project: Project, now: datetime
) -> None:
    tools = toolbox(project)
    queue.cancel_queued(project, submit(project, now).id, "user", now)
    assert (await call(tools, "check_builder_status", Check(task_id="1")))["state"] == "failure"
    assert "results" not in await call(tools, "check_builder_status", Check(wait_seconds=0))


def test_a_timeline_that_was_replaced_by_a_shorter_one_is_told_once(
    project: Project, now: datetime
) -> None:
    for word in ("one", "two"):
        settle(project, claim(project, submit(project, now, word), now), now)
    observer = Observer(project, {})
    project.timeline.unlink()
    settle(project, claim(project, submit(project, now, "three"), now), now)
    answer = observer.look(now)
    assert [result["task_id"] for result in answer.data["results"]] == ["3"]
    observer.delivered(answer)
    assert "results" not in observer.look(now).data


async def test_what_keeps_the_worker_from_its_work_is_told_with_a_running_task(
    project: Project, now: datetime
) -> None:
    claim(project, submit(project, now), now)
    tools = Toolbox(project, Wakeups(), {}, lambda: "the disk is full")
    seen = await call(tools, "check_builder_status", Check(wait_seconds=0))
    assert (seen["state"], seen["trouble"]) == ("running", "the disk is full")


def test_a_folder_in_the_place_of_the_pause_is_a_pause(project: Project) -> None:
    project.paused.mkdir()
    pause = read_pause(project)
    assert pause is not None
    assert pause.by == "user"


def test_a_part_blocked_by_what_its_parent_depends_on_names_the_parent_to_edit(
    project: Project, now: datetime
) -> None:
    submit(project, now)
    submit(project, now, "whole", depends_on=["1"])
    submit(project, now, "part", parent="2")
    queue.cancel_queued(project, "1", "user", now)
    told = Observer(project, {}).look_at("2.1", now).data
    assert (told["state"], told["cause"]) == ("blocked", "1")
    assert "or edit_task 2 depends_on, or cancel_task 2.1;" in told["next"]
