"""The compact context as it is gathered from a project."""

from __future__ import annotations

import json
import os
from datetime import datetime

import pytest

from loop.actions.context import prompt_context, write_compact_context
from loop.core.config import Config, Context
from loop.core.context import compact_context, context_text
from loop.core.result import Result
from loop.core.task import Task
from loop.store import queue
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.progress import Handoff, append, archive_of, handoff
from tests.tasks import claim, settle, submit


def leave(project: Project, now: datetime, text: str, left: str | None, **fields: object) -> None:
    task = claim(project, submit(project, now, text, **fields), now)
    result = Result(task_id=task.id, status="success", summary="Done.", completed_at=now,
                    notes=left, task={})  # fmt: skip
    entry = handoff(task, result, None) if left is None else None
    queue.settle(project, task, result, now, handoff=entry)


def hand_off(project: Project, now: datetime, task_id: str, title: str) -> None:
    entry = Handoff(session="s", run=1, time=now, task_id=task_id, title=title, status="failure")
    with transition(project) as t:
        append(t, entry, 100)


def family(project: Project, now: datetime) -> Task:
    """Task 2.2: its parent stands on 1, whose subtask did the work; 3 was designed, 4 not."""
    submit(project, now, "Base")
    leave(project, now, "Base part", "Use port 7.", parent="1")
    submit(project, now, "Whole", depends_on=["1"], notes="Mind the gap.")
    leave(project, now, "First part", None, parent="2")
    leave(project, now, "The design", "Use a map.", role="architect")
    leave(project, now, "Built of it", "Call put().", depends_on=["3"])
    return submit(project, now, "Second part", parent="2", depends_on=["4"])


def test_what_it_stands_on_its_parent_and_its_siblings_reach_the_prompt(
    project: Project, now: datetime
) -> None:
    task = family(project, now)
    hand_off(project, now, task.id, "Second part")
    text = prompt_context(project, task, Config(), now)
    assert text.startswith(
        "Tasks that this one stands on, and what they left for it:\n"
        "- 4 (success) Built of it\nCall put().\n"
        "- 1 (success) Base\n"
        "- 1.1 (success) Base part\nUse port 7.\n"
        "- 3 (architect, success) The design\nUse a map.\n\n"
        "It is a part of this task:\n- 2 (running) Whole\nMind the gap.\n\n"
        "The other parts of that task:\n- 2.1 (success) First part\n\n"
        "From the handoff log, about this task:\nsession: s run 1\n"
    )
    assert "Other tasks:" not in text  # all are named above


def test_other_tasks_come_with_those_first_that_wait_for_this_one(
    project: Project, now: datetime
) -> None:
    leave(project, now, "Ended", "Not for all.")
    submit(project, now, "Low", priority="low")
    task = submit(project, now, "This one")
    submit(project, now, "Waits for it", depends_on=["3"], priority="low")
    submit(project, now, "Next", priority="high")
    claim(project, submit(project, now, "Runs", priority="high"), now)
    text = prompt_context(project, task, Config(), now)
    assert text.endswith(
        "Other tasks:\n- 4 (queued) Waits for it\n- 6 (running) Runs\n- 5 (queued) Next\n"
        "- 2 (queued) Low\n- 1 (success) Ended"
    )
    assert "\n4 queued, 1 running, 1 settled\n" in text


def test_the_prompt_and_the_file_for_the_shift_say_the_same(
    project: Project, now: datetime
) -> None:
    task = family(project, now)
    hand_off(project, now, "3", "The design")
    made = json.loads(write_compact_context(project, task, Config(), now).read_bytes())
    text = prompt_context(project, task, Config(), now)
    assert made["current_task"]["id"] == "2.2" and made["cut"] == []
    assert compact_context({}, protocol=()).keys() | {"cut"} == made.keys()
    del made["current_task"]
    assert context_text(made, 8192) == text


def test_a_long_queue_stays_within_the_bound_of_the_settings(
    project: Project, now: datetime
) -> None:
    hand_off(project, now, "7", "Earlier")
    task = submit(project, now, "Build")
    for number in range(2, 300):
        submit(project, now, f"Build {number} 😀")
    config = Config(context=Context(max_bytes=4000))
    data = write_compact_context(project, task, config, now).read_bytes()
    made = json.loads(data)
    assert len(data) <= 4000
    assert made["queue_summary"] == {"queued": 299, "running": 0, "settled": 0}
    assert made["recent_progress"][2] == "task: 7 Earlier"
    assert made["project_index"][0] == "# Project index: project"
    kept = len(made["other_tasks"])
    assert made["cut"] == [f"other_tasks: {kept} of 298"] and kept > 10
    text = prompt_context(project, task, config, now)
    assert len(text.encode()) <= 4000 and text.endswith(" of 298)")


@pytest.mark.skipif(os.name == "nt", reason="pipes")
def test_logs_and_pages_that_can_t_be_read_stop_no_run(project: Project, now: datetime) -> None:
    project.progress.mkdir()
    (project.ai / "project_index.md").mkdir()
    os.mkfifo(archive_of(project))
    task = submit(project, now, "Build")
    assert "How to go about it:" in prompt_context(project, task, Config(), now)
    leave(project, now, "Other", None)  # with an entry in the log
    assert "task: 2 Other" in project.progress.read_text()
    assert "task: 2 Other" in prompt_context(project, task, Config(), now)


def test_of_earlier_runs_the_file_says_how_they_ended(project: Project, now: datetime) -> None:
    task = settle(project, claim(project, submit(project, now), now), now, "needs_input")
    made = json.loads(write_compact_context(project, task, Config(), now).read_bytes())
    assert made["current_task"]["runs"] == [
        {"number": 1, "status": "needs_input", "reason": "needs_input"}
    ]
