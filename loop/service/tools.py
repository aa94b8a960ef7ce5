"""The Architect's tools: their arguments, their descriptions, and the action behind each.

No protocol here (server.py has it) and no rules (the actions have them). Arguments are decoded
leniently ("25" is a number) but completely: an unknown name is an error that lists those there are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from loop.actions import change, requeue, review, status, submit, undo
from loop.core.checks import clean_text, convert
from loop.core.config import Wait
from loop.core.mask import masked
from loop.core.task import Name, TaskFields
from loop.core.task_id import checked_id
from loop.errors import BadInput, NotReady
from loop.service.wakeups import Wakeups
from loop.service.worker import utc_now
from loop.store import timeline
from loop.store.paths import Project
from loop.store.project_files import load_config
from loop.store.scan import QueueScan, locate
from loop.templates import template

_MAX_LOG_BYTES = 65536
#: Paths of one kind that an answer names.
_MOST_PATHS = 20
#: Seconds within which another server becomes the owner after one has ended.
_TAKE_OVER_S = 2.5


class QueueTask(TaskFields, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Arguments of queue_task."""

    key: Name | None = None


class EditTask(TaskFields, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Arguments of edit_task."""

    task_id: str | int


class RequeueTask(TaskFields, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Arguments of requeue_task."""

    task_id: str | int
    guidance: str | None = None
    fresh: bool = False
    from_user: bool = False


class _Arguments(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Arguments of a tool."""


class Check(_Arguments, forbid_unknown_fields=True):
    """Arguments of check_builder_status."""

    task_id: str | int | None = None
    wait_seconds: Annotated[float, Meta(ge=-1e9, le=1e9)] | None = None


class OneTask(_Arguments, forbid_unknown_fields=True):
    """A task."""

    task_id: str | int


class GetTask(OneTask, forbid_unknown_fields=True):
    """Arguments of get_task."""

    log_tail: int | None = None


class ListTasks(_Arguments, forbid_unknown_fields=True):
    """Arguments of list_tasks."""

    state: str | None = None
    limit: int | None = None


class Pause(_Arguments, forbid_unknown_fields=True):
    """Arguments of pause_queue."""

    reason: Name | None = None


class Nothing(_Arguments, forbid_unknown_fields=True):
    """No arguments."""


class Escalate(OneTask, forbid_unknown_fields=True):
    """Arguments of escalate_to_user."""

    question: str
    options: list[str] = []


class Review(OneTask, forbid_unknown_fields=True):
    """Arguments of review_changes."""

    path: str | None = None
    max_bytes: int | None = None


class UndoTask(OneTask, forbid_unknown_fields=True):
    """Arguments of undo_task."""

    force: bool = False


class Timeline(_Arguments, forbid_unknown_fields=True):
    """Arguments of show_timeline."""

    limit: int | None = None
    task_id: str | int | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as it is offered."""

    name: str
    description: str
    arguments: type[Struct]
    #: names and JSON types of what the answer always holds
    answer: dict[str, str]
    run: Callable[[Any], Awaitable[dict[str, Any]]]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = True


class Toolbox:
    """All tools of one project."""

    def __init__(
        self,
        project: Project,
        wakeups: Wakeups,
        env: Mapping[str, str],
        trouble: Callable[[], str | None] = lambda: None,
    ) -> None:
        """`trouble` says what keeps the worker of this process from working, if anything does."""
        self._project = project
        self._trouble = trouble
        self._wakeups = wakeups
        self._observer = status.Observer(project, env, trouble)
        self._scan = QueueScan(project, utc_now)

    def tools(self, *, read_only: bool) -> list[Tool]:
        """The tools on offer, the essential ones first."""
        offered = [
            Tool(
                "queue_task",
                "Queue a task for the Builder (Claude Code in this project's folder). Only what "
                "the person approved. Give all the context it needs; it knows nothing of this "
                "chat. Then call check_builder_status.",
                QueueTask,
                {"id": "string", "state": "string"},
                self._queue_task,
                idempotent=False,
            ),
            Tool(
                "check_builder_status",
                "Waits (25 s) until a task ends and answers at that moment. Call it again while it "
                "says running or queued; end your turn when `next` says so. Without task_id: what "
                "has ended since the last answer.",
                Check,
                {"state": "string"},
                self._check,
                read_only=True,
            ),
            Tool(
                "get_task",
                "A task in full, with its result; log_tail adds the last bytes of its log.",
                GetTask,
                {"state": "string", "task": "object"},
                self._get_task,
                read_only=True,
            ),
            Tool(
                "requeue_task",
                "Run a settled task again under its id: guidance answers its question or corrects "
                "it; any field can be replaced. from_user: true only on the person's own word. "
                "fresh: true starts without the memory of the last run.",
                RequeueTask,
                {"id": "string", "state": "string"},
                self._requeue_task,
                idempotent=False,
            ),
            Tool(
                "escalate_to_user",
                "Record that the person must decide, and get the words to put to them: product "
                "trade-offs, what can't be undone, denials that are a real boundary.",
                Escalate,
                {"id": "string", "say": "string"},
                self._escalate,
                idempotent=False,
            ),
            Tool(
                "review_changes",
                "What a settled task did: summary, files, diff (whole files up to max_bytes, "
                "20000), commits, denials, verification, warnings. path: one file or folder.",
                Review,
                {"task_id": "string", "status": "string", "summary": "string"},
                self._review,
                read_only=True,
            ),
            Tool(
                "undo_task",
                "Take back what only this task changed; paths that others changed since are "
                "listed, and taken only with force: true. Again: brings the work back.",
                UndoTask,
                {"id": "string", "taken_back": "array", "overtaken": "array"},
                self._undo,
                destructive=True,
                idempotent=False,
            ),
            Tool(
                "list_tasks",
                "Tasks with counts: running, queued in their order, then the last settled. "
                "state: running, queued, success, failure or needs_input.",
                ListTasks,
                {"counts": "object", "tasks": "array"},
                self._list_tasks,
                read_only=True,
            ),
            Tool(
                "edit_task",
                "Replace fields of a task that is still queued.",
                EditTask,
                {"id": "string", "state": "string"},
                self._edit_task,
            ),
            Tool(
                "cancel_task",
                "Cancel a task: queued at once, running by ending its run. A settled one stays.",
                OneTask,
                {"id": "string", "state": "string"},
                self._cancel_task,
                destructive=True,
            ),
            Tool(
                "pause_queue",
                "Start nothing new until resume_queue; what runs goes on.",
                Pause,
                {"state": "string"},
                self._pause,
            ),
            Tool(
                "resume_queue",
                "Lift the pause in force.",
                Nothing,
                {"state": "string"},
                self._resume,
            ),
            Tool(
                "show_timeline",
                "The last events, oldest first; of one task with task_id.",
                Timeline,
                {"events": "array"},
                self._show_timeline,
                read_only=True,
            ),
        ]
        return [tool for tool in offered if tool.read_only or not read_only]

    async def _queue_task(self, a: QueueTask) -> dict[str, Any]:
        submitted = await asyncio.to_thread(
            submit.submit, self._project, _fields(a), a.key, "architect", utc_now()
        )
        self._wakeups.wake()
        task_id = submitted.task.id
        data: dict[str, Any] = {"id": task_id, "state": "queued"}
        if submitted.note is not None:
            located = await asyncio.to_thread(locate, self._project, task_id, utc_now())
            data |= {"state": located.state, "note": submitted.note}
        place = await asyncio.to_thread(lambda: submit.position(self._scan.look(), task_id))
        data["position"] = place
        data["next"] = "call check_builder_status"
        return {k: v for k, v in data.items() if v is not None}

    async def _check(self, a: Check) -> dict[str, Any]:
        wait = await asyncio.to_thread(self._wait_settings)
        asked_s = wait.default_s if a.wait_seconds is None else a.wait_seconds
        wait_s = min(max(asked_s, 0.0), wait.max_s)
        clock = asyncio.get_running_loop().time
        deadline = clock() + wait_s
        take_over = min(deadline, clock() + _TAKE_OVER_S)
        with self._wakeups.subscribe() as wakeup:
            while True:
                answer = await asyncio.to_thread(self._look, a.task_id)
                left_s = (take_over if answer.passing else deadline) - clock()
                if answer.final and not answer.passing:
                    break
                if left_s <= 0 or not await wakeup.wait(left_s):
                    break
            if not answer.final or answer.passing:
                answer = await asyncio.to_thread(self._look, a.task_id)
        self._observer.delivered(answer)
        trouble = self._trouble()
        data = answer.data if trouble is None else answer.data | {"trouble": trouble}
        if asked_s > wait.max_s and not answer.final:
            return data | {"note": f"waited {wait.max_s:g} s, the most this server waits"}
        return data

    def _wait_settings(self) -> Wait:
        """How long to wait; a broken config.json keeps no result from the Architect."""
        try:
            return load_config(self._project).wait
        except NotReady:
            return Wait()

    def _look(self, task_id: str | int | None) -> status.Answer:
        if task_id is None:
            return self._observer.look(utc_now())
        return self._observer.look_at(str(task_id), utc_now())

    async def _get_task(self, a: GetTask) -> dict[str, Any]:
        tail_bytes = min(max(a.log_tail or 0, 0), _MAX_LOG_BYTES)
        return await asyncio.to_thread(
            status.task_in_full, self._project, str(a.task_id), tail_bytes, utc_now()
        )

    async def _list_tasks(self, a: ListTasks) -> dict[str, Any]:
        allowed = ("running", "queued", "success", "failure", "needs_input")
        if a.state is not None and a.state not in allowed:
            raise BadInput("state", f"is one of {', '.join(allowed)}")
        limit = min(max(a.limit if a.limit is not None else 20, 1), 100)
        return await asyncio.to_thread(
            lambda: status.listing(self._project, self._scan.look(), a.state, limit, utc_now())
        )

    async def _edit_task(self, a: EditTask) -> dict[str, Any]:
        task = await asyncio.to_thread(
            change.edit, self._project, str(a.task_id), _fields(a), "architect", utc_now()
        )
        self._wakeups.wake()
        return {"id": task.id, "state": "queued"}

    async def _requeue_task(self, a: RequeueTask) -> dict[str, Any]:
        def run() -> str:
            task = requeue.requeue(
                self._project,
                str(a.task_id),
                _fields(a),
                a.guidance,
                "architect",
                utc_now(),
                fresh=a.fresh,
                from_user=a.from_user,
            )
            return task.id

        task_id = await asyncio.to_thread(run)
        self._wakeups.wake()
        return {"id": task_id, "state": "queued", "next": "call check_builder_status"}

    async def _cancel_task(self, a: OneTask) -> dict[str, Any]:
        located = await asyncio.to_thread(
            change.cancel, self._project, str(a.task_id), "architect", utc_now()
        )
        self._wakeups.wake()
        if located.state == "running":
            hint = "its run is being ended; call check_builder_status"
            return {"id": located.task.id, "state": "running", "next": hint}
        reason = located.result.reason if located.result else None
        return {"id": located.task.id, "state": located.state, "reason": reason}

    async def _pause(self, a: Pause) -> dict[str, Any]:
        pause = await asyncio.to_thread(
            change.pause, self._project, "architect", a.reason, utc_now()
        )
        self._wakeups.wake()
        return {"state": "paused", **status.pause_data(pause)}

    async def _resume(self, _a: Nothing) -> dict[str, Any]:
        lifted = await asyncio.to_thread(change.resume, self._project, "architect", utc_now())
        self._wakeups.wake()
        note = "there was no pause" if lifted is None else f"lifted: {lifted.reason}"
        return {"state": "resumed", "note": note}

    async def _escalate(self, a: Escalate) -> dict[str, Any]:
        words = await asyncio.to_thread(
            requeue.escalate, self._project, str(a.task_id), a.question, a.options, utc_now()
        )
        hint = "put this to the person and end your turn; then requeue_task with from_user: true"
        return {"id": checked_id(a.task_id), "say": words, "next": hint}

    async def _review(self, a: Review) -> dict[str, Any]:
        most = review.DEFAULT_DIFF_BYTES if a.max_bytes is None else max(0, a.max_bytes)
        return await asyncio.to_thread(
            review.review, self._project, str(a.task_id), a.path, most, utc_now()
        )

    async def _undo(self, a: UndoTask) -> dict[str, Any]:
        def run() -> undo.Undoing:
            now = utc_now()
            return undo.undo(self._project, str(a.task_id), "architect", now, force=a.force)

        done = await asyncio.to_thread(run)
        data: dict[str, Any] = {
            "id": done.task_id,
            "taken_back": done.taken_back[:_MOST_PATHS],
            "more_taken_back": max(0, len(done.taken_back) - _MOST_PATHS) or None,
            "overtaken": done.overtaken[:_MOST_PATHS],
            "more_overtaken": max(0, len(done.overtaken) - _MOST_PATHS) or None,
            "commit": done.commit,
        }
        if done.redone:
            data["note"] = "the task had been undone; its work is back"
        elif not done.taken_back:
            data["note"] = (
                "nothing was taken back: others changed these paths since"
                if done.overtaken
                else "nothing was taken back: the files are as they were before the task"
            )
        if done.skipped:
            data["not_committed"] = done.skipped
        return {k: v for k, v in data.items() if v is not None}

    async def _show_timeline(self, a: Timeline) -> dict[str, Any]:
        limit = min(max(a.limit if a.limit is not None else 20, 1), 200)
        task_id = None if a.task_id is None else checked_id(a.task_id)
        events = await asyncio.to_thread(timeline.last, self._project.timeline, limit, task_id)
        return {"events": [_shortened(event) for event in events]}


def _fields(a: TaskFields) -> TaskFields:
    return TaskFields(**{f: getattr(a, f) for f in TaskFields.__struct_fields__})


def _shortened(event: dict[str, Any]) -> dict[str, Any]:
    def short(value: Any) -> Any:
        if isinstance(value, str) and len(value) > 300:
            return f"{masked(value)[:299]}…"  # a cut secret would not be known for one
        return [short(v) for v in value[:5]] if isinstance(value, list) else value

    return {k: short(v) for k, v in event.items()}


def arguments_of(tool: Tool, given: dict[str, Any]) -> Struct:
    """The arguments of a call.

    Raises:
        BadInput: names the argument and says what is allowed.
    """
    clean_text(given)
    return convert(given, tool.arguments, strict=False)


def input_schema(tool: Tool) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments, without references, titles and nulls."""
    _, components = msgspec.json.schema_components([tool.arguments])
    schema = components[tool.arguments.__name__]
    properties = {name: _slim(value) for name, value in schema["properties"].items()}
    slim: dict[str, Any] = {"type": "object", "properties": properties}
    if schema.get("required"):
        slim["required"] = schema["required"]
    return slim | {"additionalProperties": False}


def _slim(schema: dict[str, Any]) -> dict[str, Any]:
    options = [o for o in schema.get("anyOf", []) if o != {"type": "null"}]
    if len(options) == 1:
        return _slim(options[0])
    kept = {"type", "enum", "items"}
    if options:
        return {"anyOf": [_slim(option) for option in options]}
    slim = {k: v for k, v in schema.items() if k in kept}
    return slim | ({"items": _slim(slim["items"])} if "items" in slim else {})


def output_schema(tool: Tool) -> dict[str, Any]:
    """The JSON Schema of a tool's answer: what is always there; more may come."""
    names = tool.answer | {"project": "string", "root": "string"}
    properties = {name: {"type": kind} for name, kind in names.items()}
    return {"type": "object", "properties": properties, "required": list(names)}


def instructions(project: Project, server: str) -> str:
    """The server's own instructions: the Architect's role in short."""
    return template(
        "server_instructions.md", server=server, project=project.name, root=str(project.root)
    )


def as_text(data: dict[str, Any], indent: str = "") -> str:
    """An answer as short lines for reading; nothing of it is left out."""
    lines = []
    for key, value in data.items():
        if isinstance(value, dict):
            inner = ", ".join(f"{k} {v}" for k, v in value.items() if v not in (None, [], {}))
            flat = not any(isinstance(v, dict | list) for v in value.values())
            nested = f"{indent}{key}:\n{as_text(value, indent + '  ')}"
            lines.append(f"{indent}{key}: {inner}" if flat and len(inner) < 200 else nested)
        elif isinstance(value, list):
            lines.extend(_listed(key, value, indent))
        elif value is not None:
            text = str(value).rstrip().replace("\n", f"\n{indent}  ")
            lines.append(f"{indent}{key}: {text}")
    return "\n".join(lines)


def _listed(key: str, values: list[Any], indent: str) -> list[str]:
    lines = [f"{indent}{key}:"]
    for value in values:
        if isinstance(value, dict):
            inner = as_text(value, indent + "  ").lstrip()
            lines.append(f"{indent}- {inner}")
        else:
            lines.append(f"{indent}- {value}")
    return lines
