"""Whatever order things are asked in, every task is in one state and its story is whole."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from loop.core import transition as rules
from loop.core.task import Task, TaskFields
from loop.errors import NotFound, WrongState
from loop.store import queue
from loop.store.paths import Project
from loop.store.scan import ids_in, locate
from tests.tasks import claim, settle, submit

NOW = datetime(2026, 7, 23, tzinfo=UTC)
STATUSES: list[Literal["success", "failure", "needs_input"]] = ["success", "failure", "needs_input"]
STORY = {
    "task_queued": {None: "queued"},
    "task_edited": {"queued": "queued"},
    "task_cancelled": {"queued": "settled"},
    "run_started": {"queued": "running"},
    "run_completed": {"running": "settled"},
    "queue_paused": {"running": "queued"},
    "task_requeued": {"settled": "queued"},
}
PICK = st.integers(0, 99)


class Queue(RuleBasedStateMachine):
    @initialize()
    def set_up(self) -> None:
        self.project = Project(Path(tempfile.mkdtemp(prefix="loop-test-")).resolve())
        for folder in self.project.folders():
            folder.mkdir(parents=True)
        self.runs: dict[str, int] = defaultdict(int)
        self.wanted: dict[str, str] = {}

    def teardown(self) -> None:
        if hasattr(self, "project"):
            shutil.rmtree(self.project.root)

    def one(self, pick: int, state: str) -> Task | None:
        """A task in that state, if there is any."""
        ids = sorted(task_id for task_id, found in self.wanted.items() if found == state)
        return locate(self.project, ids[pick % len(ids)], NOW).task if ids else None

    def any_id(self, pick: int) -> str:
        return str(pick % (len(self.wanted) + 1) + 1)

    @rule(text=st.sampled_from("abc"), key=st.none() | st.sampled_from("kl"))
    def submit(self, text: str, key: str | None) -> None:
        task = submit(self.project, NOW, f"of {key}" if key else text, key=key)
        self.wanted.setdefault(task.id, "queued")

    @rule(pick=PICK, title=st.sampled_from("xyz"))
    def edit(self, pick: int, title: str) -> None:
        task_id = self.any_id(pick)
        try:
            queue.edit(self.project, task_id, TaskFields(title=title), "user", NOW)
        except (NotFound, WrongState):
            assert self.wanted.get(task_id) != "queued"
        else:
            assert self.wanted[task_id] == "queued"

    @rule(pick=PICK)
    def cancel(self, pick: int) -> None:
        if task := self.one(pick, "queued"):
            located = queue.cancel_queued(self.project, task.id, "user", NOW)
            assert located.result is not None
            self.wanted[task.id] = "settled"

    @rule(pick=PICK)
    def claim(self, pick: int) -> None:
        if task := self.one(pick, "queued"):
            claim(self.project, task, NOW)
            self.wanted[task.id] = "running"

    @rule(pick=PICK, status=st.sampled_from(STATUSES))
    def settle(self, pick: int, status: Literal["success", "failure", "needs_input"]) -> None:
        if task := self.one(pick, "running"):
            settle(self.project, task, NOW, status)
            self.wanted[task.id] = "settled"

    @rule(pick=PICK, retry=st.booleans())
    def give_back(self, pick: int, retry: bool) -> None:
        if task := self.one(pick, "running"):
            if retry:
                event = rules.retried(task, "silent", None, NOW)
            else:
                event = rules.paused(task, "login", "r", None, NOW, tries=0)
            queue.give_back(self.project, task, event, retry=retry, note=None)
            self.wanted[task.id] = "queued"

    @rule(pick=PICK, from_user=st.booleans())
    def requeue(self, pick: int, from_user: bool) -> None:
        task = self.one(pick, "settled")
        task_id = task.id if task else self.any_id(pick)
        try:
            queue.requeue(
                self.project, task_id, TaskFields(), "g", "user", NOW,
                from_user=from_user, max_requeues=2,
            )  # fmt: skip
        except (NotFound, WrongState):
            assert task is None or task.requeues == 2
        else:
            assert self.wanted[task_id] == "settled"
            self.wanted[task_id] = "queued"

    @invariant()
    def every_task_is_in_exactly_one_state(self) -> None:
        project = self.project
        found = {
            **dict.fromkeys(ids_in(project.queue), "queued"),
            **dict.fromkeys(ids_in(project.running), "running"),
            **dict.fromkeys(ids_in(project.completed), "settled"),
        }
        assert found == self.wanted
        folders = (project.queue, project.running, project.completed)
        assert sum(len(ids_in(folder)) for folder in folders) == len(self.wanted)

    @invariant()
    def run_numbers_never_go_down(self) -> None:
        for task_id in self.wanted:
            task = locate(self.project, task_id, NOW).task
            assert task.run >= self.runs[task_id]
            numbers = [run.number for run in task.runs]
            assert numbers == sorted(set(numbers))
            self.runs[task_id] = task.run

    @invariant()
    def the_timeline_tells_how_each_task_came_to_its_state(self) -> None:
        states: dict[str, str | None] = defaultdict(lambda: None)
        if self.project.timeline.exists():
            for line in self.project.timeline.read_bytes().splitlines():
                event = json.loads(line)
                step = STORY[event["event"]]
                state = step[states[event["task_id"]]]  # type: ignore[index]
                states[event["task_id"]] = "queued" if event.get("retry") else state
        assert states == self.wanted


TestQueue = Queue.TestCase
TestQueue.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
