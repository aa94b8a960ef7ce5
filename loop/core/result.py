"""How a task ended, and the Builder's own report of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from loop.core.checks import convert, lenient
from loop.core.task import Task, decode_object, task_dict, task_from
from loop.errors import BadInput

Status = Literal["success", "failure", "needs_input"]


class FileChange(Struct):
    """One changed path; `added` and `removed` count lines, None for a binary file."""

    path: str
    added: int | None
    removed: int | None


class Denial(Struct, omit_defaults=True):
    """A tool call that the rules refused."""

    tool: str
    input: str
    #: the rule that would allow it; empty when there is none to recommend
    rule: str
    #: whether a rule refuses it by name: a boundary, not an omission
    denied: bool = False


class Snapshot(Struct, omit_defaults=True):
    """Commits that hold the files before and after; None outside a git repository."""

    before: str | None = None
    after: str | None = None


class Undo(Struct, kw_only=True):
    """An undo of the task, or of its last undo: commits that hold the files before and after."""

    at: datetime
    #: number of the run that it came after
    run: int
    before: str
    after: str
    paths: list[str]


class Result(Struct, kw_only=True):
    """The result of a task, written when its last attempt has ended.

    `cost_usd`, `turns` and `duration_s` are totals over all runs of the task.
    """

    task_id: str
    status: Status
    summary: str
    completed_at: datetime
    task: dict[str, Any]
    #: question and options, word for word, with needs_input; else the Builder's own remark
    remarks: str | None = None
    #: the newest commit of the run's work; None when there is none
    commit_hash: str | None = None
    #: relative to the project
    log_path: str | None = None
    #: one word: which line of the table of endings it was
    reason: str = "success"
    warnings: list[str] = field(default_factory=list)
    #: how many runs the task has had
    runs: int = 0
    duration_s: float | None = None
    #: US dollars; None when the cost of a run is unknown
    cost_usd: float | None = None
    turns: int | None = None
    session_id: str | None = None
    files_changed: list[FileChange] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)
    snapshot: Snapshot = field(default_factory=Snapshot)
    permission_denials: list[Denial] = field(default_factory=list)
    #: {command, exit, tail, baseline}; None when nothing was verified
    verification: dict[str, Any] | None = None
    #: the Builder's notes for tasks that build on this one
    notes: str | None = None
    #: of a parent that failed: the failed subtask at the root
    cause: str | None = None
    #: an odd number means that the task is undone
    undos: list[Undo] = field(default_factory=list)


class Report(Struct, kw_only=True):
    """What the Builder itself says at the end of a run."""

    outcome: Literal["done", "no_change_needed", "needs_input", "failed"]
    summary: str = ""
    remark: str | None = None
    question: str | None = None
    options: list[str] = field(default_factory=list)
    files_changed: list[str] = field(default_factory=list)
    notes: str | None = None
    verification: str | None = None
    next: str | None = None
    blockers: str | None = None
    #: as they were given; see core/split.py
    subtasks: list[Any] = field(default_factory=list)


_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}

#: Given to Claude Code as --json-schema.
REPORT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "outcome": {
            "type": "string",
            "enum": ["done", "no_change_needed", "needs_input", "failed"],
            "description": "needs_input when a person must decide something before you can go on",
        },
        "summary": {"type": "string", "description": "what you did, for the Architect"},
        "remark": {"type": "string", "description": "anything worth a second look; an objection"},
        "question": {"type": "string", "description": "with needs_input: the question, complete"},
        "options": {**_TEXTS, "description": "with needs_input: the choices you see"},
        "files_changed": _TEXTS,
        "notes": {"type": "string", "description": "for later tasks that build on this one"},
        "verification": {"type": "string", "description": "what you checked, and how"},
        "next": _TEXT,
        "blockers": _TEXT,
        "subtasks": {
            "type": "array",
            "description": "with done, to split this task: what is left of it, which others "
            "do then, each knowing only its own entry and your notes; empty otherwise",
            "items": {
                "type": "object",
                "properties": {
                    "title": _TEXT,
                    "instructions": _TEXTS,
                    "acceptance_criteria": _TEXTS,
                },
                "required": ["title", "instructions"],
            },
        },
    },
    "required": ["outcome", "summary"],
}


def report_from(data: object) -> Report | None:
    """The report in `data`; fields that do not fit are dropped. None when it says no outcome."""
    if not isinstance(data, dict):
        return None
    outcome = data.get("outcome")
    if outcome not in ("done", "no_change_needed", "needs_input", "failed"):
        return None
    return lenient(data, Report)


def result_dict(result: Result) -> dict[str, Any]:
    """The result as plain data; absent values are left out, `cost_usd` is kept as null."""
    plain: dict[str, Any] = msgspec.to_builtins(result)
    keep = {"cost_usd", "commit_hash"}
    if not result.undos:
        del plain["undos"]
    return {k: v for k, v in plain.items() if k in keep or v is not None}


def decode_result(data: bytes) -> Result:
    """A result from the bytes of its file.

    Raises:
        BadInput: it is not a result.
    """
    return convert(decode_object(data), Result)


def task_in(result: Result) -> Task:
    """The task inside a result.

    Raises:
        BadInput: it does not hold one.
    """
    if not isinstance(result.task, dict):
        raise BadInput("task", "is missing")
    return task_from(dict(result.task), result.task_id, result.completed_at)


def with_task(result: Result, task: Task) -> Result:
    """The same result around another copy of the task."""
    return msgspec.structs.replace(result, task=task_dict(task))
