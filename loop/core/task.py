"""A task and its runs, as they stand in the files.

A task file that a person or a program drops needs `instructions` only. Keys that are not ours are
kept and written back.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from loop.core.checks import MAX_DEPTH, MAX_TASK_BYTES, clean_text, convert
from loop.core.task_id import checked_id, is_id
from loop.errors import BadInput

Priority = Literal["high", "normal", "low"] | Annotated[int, Meta(ge=-1_000_000, le=1_000_000)]
PRIORITY_VALUES = {"high": 10, "normal": 50, "low": 90}

#: One line: some of them become arguments of a command line, which hold no newline.
Name = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\r\n]*\Z")]
Text = Annotated[str, Meta(max_length=100_000)]
Instructions = Annotated[list[str], Meta(min_length=1, max_length=1000)]
Minutes = Annotated[float, Meta(gt=0, le=24 * 60)]
Turns = Annotated[int, Meta(ge=1, le=10_000)]
Dollars = Annotated[float, Meta(gt=0, le=10_000)]
Attempts = Annotated[int, Meta(ge=1, le=20)]
Count = Annotated[int, Meta(ge=1)]
#: Subtasks of one task.
Children = Annotated[int, Meta(ge=0, le=99_999)]


class Run(Struct, omit_defaults=True, kw_only=True, gc=False):
    """One execution for a task."""

    #: 1, 2, ... over the whole life of the task
    number: int
    #: named in the Builder's environment as LOOP_RUN and in our lines of the log
    uuid: str
    started: datetime
    #: Claude Code's session; the same as `uuid` unless an earlier session is continued
    session: str | None = None
    #: None while it runs, and when nobody knows
    ended: datetime | None = None
    #: success, failure, needs_input; `paused` when the queue was paused and nothing is decided
    status: Literal["success", "failure", "needs_input", "paused"] | None = None
    reason: str | None = None
    #: what the Builder said at its end, shortened; its question with needs_input
    said: str | None = None
    #: US dollars of this run alone; None when unknown
    cost: float | None = None
    turns: int | None = None
    #: 1, 2, ... since the task was queued or requeued; a pause does not count
    attempt: int = 1
    #: `session` when an interactive session did it
    driver: Literal["headless", "session"] = "headless"
    #: commit of the snapshot before the run; None outside a git repository
    before: str | None = None
    #: commit of the snapshot after the run; None when there is none
    after: str | None = None
    #: HEAD before the run; None without a commit
    head: str | None = None
    #: why there is no snapshot before the run; None when there is one
    no_snapshot: str | None = None
    #: commits of its work, oldest first: the Builder's own, then the checkpoint
    commits: list[str] = field(default_factory=list)
    #: what a person must know of its snapshots and commits
    warnings: list[str] = field(default_factory=list)


class Task(Struct, omit_defaults=True, kw_only=True, gc=False):
    """A unit of work."""

    id: str
    instructions: list[str]
    created_at: datetime
    author: str = "user"
    priority: Priority = "normal"
    type: str = "implementation"
    target: str | None = None
    title: str | None = None
    depends_on: list[str] = field(default_factory=list)
    parent: str | None = None
    role: str | None = None
    acceptance_criteria: list[str] = field(default_factory=list)
    #: commands that the worker itself runs after the run
    acceptance: list[str] = field(default_factory=list)
    notes: str | None = None
    max_attempts: Attempts | None = None
    timeout_minutes: Minutes | None = None
    max_turns: Turns | None = None
    max_budget_usd: Dollars | None = None
    model: Name | None = None
    #: the caller's own name for the submission, so that sending it twice queues it once
    key: str | None = None
    #: number of the run that this copy of the task is about: the next one while it is queued
    run: Count = 1
    #: attempt of the next run; see Run.attempt
    attempt: Count = 1
    runs: list[Run] = field(default_factory=list)
    #: what was answered or corrected, one entry a requeue
    guidance: list[str] = field(default_factory=list)
    #: requeues since the person last had a say
    requeues: int = 0
    #: told to the next run by the worker: what happened to the last one
    note_to_run: str | None = None
    #: the next run starts without the memory of the last one
    fresh: bool = False
    #: how many subtasks it was split into; with any, it is not run itself
    children: Children = 0
    #: keys of the file that are not ours
    extra: dict[str, Any] = field(default_factory=dict, name="_extra")


class TaskFields(Struct, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """What can be said of a task by those who queue or edit it."""

    instructions: str | Instructions | None = None
    title: Annotated[str, Meta(min_length=1, max_length=300)] | None = None
    target: Annotated[str, Meta(min_length=1, max_length=4096)] | None = None
    type: Name | None = None
    priority: Priority | None = None
    role: Name | None = None
    depends_on: list[str | int] | None = None
    parent: str | int | None = None
    acceptance_criteria: list[Text] | None = None
    acceptance: list[Text] | None = None
    notes: Text | None = None
    timeout_minutes: Minutes | None = None
    max_turns: Turns | None = None
    max_budget_usd: Dollars | None = None
    model: Name | None = None
    max_attempts: Attempts | None = None


_OURS = frozenset(f.encode_name for f in msgspec.structs.fields(Task)) - {"_extra"}


_NEEDED = frozenset({"id", "instructions", "created_at", "run"})
_KEYS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TASK = msgspec.json.Decoder(Task)
_TITLE_CHARACTERS = 72
#: What is longer is looked at with more care: it could nest deeply.
_SMALL_BYTES = 20_000


def priority_value(priority: Priority) -> int:
    """Smaller comes first: high 10, normal 50, low 90, or the number itself."""
    return PRIORITY_VALUES[priority] if isinstance(priority, str) else priority


def title_of(task: Task) -> str:
    """The title, or the first line of the instructions, at most 72 characters."""
    source = task.title or next(
        (line for i in task.instructions for line in i.splitlines() if line.strip()), ""
    )
    return short_title(source)


def short_title(text: str) -> str:
    """The text in one line of at most 72 characters."""
    words = " ".join(text.split())
    if len(words) > _TITLE_CHARACTERS:
        from loop.core.mask import masked  # whose patterns take time to compile

        words = masked(words)  # a cut secret would not be known for one
    cut = len(words) > _TITLE_CHARACTERS
    return words[: _TITLE_CHARACTERS - 1].rstrip() + "…" if cut else words


def decode_task(data: bytes, task_id: str, now: datetime) -> Task:
    """A task from the bytes of its file; the id of the file's name wins over the one inside.

    Raises:
        BadInput: not JSON, or a field is wrong; the message names it.
    """
    return decode_file(data, task_id, now)[0]


def decode_file(data: bytes, task_id: str, now: datetime) -> tuple[Task, bool]:
    """As `decode_task`, and whether the file is ours; False when others dropped it.

    Raises:
        BadInput: not JSON, or a field is wrong; the message names it.
    """
    own = _own(data, task_id)
    if own is not None:
        return own, True
    raw = decode_object(data)
    levels = data.count(b"[") + data.count(b"{")
    # Only an escape can stand for bad text, and only brackets can nest.
    if b"\\u" in data or len(data) > MAX_TASK_BYTES or levels > MAX_DEPTH:
        clean_text(raw)
    is_ours = raw.get("run") is not None and raw.get("id") == task_id
    return _task(raw, task_id, now), is_ours


def _own(data: bytes, task_id: str) -> Task | None:
    """The task of a file that holds what we write ourselves and no more; None for any other.

    Only to be fast: a queue may hold ten thousand.
    """
    if b"\\u" in data or len(data) > _SMALL_BYTES:
        return None
    try:
        if not _NEEDED <= _KEYS.decode(data).keys() <= _OURS:
            return None
        task = _TASK.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if task.id != task_id or task.created_at.tzinfo is None:
        return None
    if task.depends_on and not all(map(is_id, task.depends_on)):
        return None
    if task.parent is not None and not is_id(task.parent):
        return None
    if not task.instructions[0].strip() and not any(i.strip() for i in task.instructions):
        return None
    if task.created_at.tzinfo is not UTC:
        task.created_at = task.created_at.astimezone(UTC)
    return task


def decode_object(data: bytes) -> dict[str, Any]:
    """The JSON object in `data`; a byte order mark is tolerated.

    Raises:
        BadInput: it is no JSON object in UTF-8.
    """
    body = data.removeprefix(b"\xef\xbb\xbf")
    if not body.strip():
        raise BadInput("", "the file is empty")
    try:
        raw = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput("", f"not valid JSON in UTF-8: {error}") from None
    except RecursionError:
        raise BadInput("", "lists and objects are nested too deeply") from None
    if not isinstance(raw, dict):
        kind = {list: "a list", str: "a text", type(None): "null", bool: "true or false"}
        name = kind.get(type(raw), "a number")
        raise BadInput("", f"must be a JSON object, as in {{...}}, not {name}")
    return raw


def task_from(raw: dict[str, Any], task_id: str, now: datetime) -> Task:
    """A task from plain data.

    Raises:
        BadInput: names the field.
    """
    clean_text(raw)
    return _task(raw, task_id, now)


def _task(raw: dict[str, Any], task_id: str, now: datetime) -> Task:
    known = {k: v for k, v in raw.items() if k in _OURS and v is not None}
    known["id"] = task_id
    if isinstance(known.get("instructions"), str):
        known["instructions"] = [known["instructions"]]
    elif not isinstance(known.get("instructions", []), list):
        convert({"instructions": known["instructions"]}, TaskFields)  # says that both forms do
    known.setdefault("created_at", now.isoformat())
    if not isinstance(known["created_at"], str):
        raise BadInput("created_at", "give a time such as 2026-07-23T10:00:00Z")
    known["depends_on"] = [
        _id_in(f"depends_on[{n}]", d) for n, d in enumerate(_listed(known, "depends_on"))
    ]
    if "parent" in known:
        known["parent"] = _id_in("parent", known["parent"])
    task = convert(known, Task)
    created = task.created_at if task.created_at.tzinfo else task.created_at.replace(tzinfo=UTC)
    try:
        task.created_at = created.astimezone(UTC)
    except OverflowError:
        raise BadInput("created_at", "give a time such as 2026-07-23T10:00:00Z") from None
    if not any(i.strip() for i in task.instructions):
        raise BadInput("instructions", "is required: say what is to be done")
    task.extra = {k: v for k, v in raw.items() if k not in _OURS and k != "_extra"}
    return task


def _id_in(name: str, value: object) -> str:
    try:
        return checked_id(value)
    except BadInput as error:
        raise BadInput(name, error.problem) from None


def _listed(known: dict[str, Any], name: str) -> list[Any]:
    value = known.get(name, [])
    if not isinstance(value, list):
        raise BadInput(name, "give a list")
    return value


def task_dict(task: Task) -> dict[str, Any]:
    """The task as plain data in the order of the documents, foreign keys last."""
    plain: dict[str, Any] = msgspec.to_builtins(task)
    plain.pop("_extra", None)
    head = {
        "id": task.id,
        "author": task.author,
        "priority": task.priority,
        "type": task.type,
        "target": task.target,
        "instructions": task.instructions,
        "created_at": plain["created_at"],
        "run": task.run,
    }
    return head | {k: v for k, v in plain.items() if k not in head} | task.extra


def encode(data: object) -> bytes:
    """Plain data as JSON of the files: indented, UTF-8, a newline at the end."""
    return msgspec.json.format(msgspec.json.encode(data), indent=1) + b"\n"
