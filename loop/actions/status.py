"""What is going on: one task, the whole queue, and what has ended since one last looked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loop.actions.ready import MENDABLE, missing
from loop.builder.stream import RunReader
from loop.core.denial import line_of
from loop.core.graph import next_first
from loop.core.mask import masked
from loop.core.result import Result, result_dict
from loop.core.task import Task, short_title, task_dict, title_of
from loop.core.task_id import sort_key
from loop.errors import LoopError
from loop.store import timeline
from loop.store.files import read_end
from loop.store.intake import invalid_files
from loop.store.paths import Project
from loop.store.project_files import Pause, read_owner, read_pause
from loop.store.scan import Located, QueueView, count_files, ids_in, locate, read_result, read_task

_BRIEF_CHARACTERS = 2000
#: How many rows of each kind the overview holds: a long queue must not hide what has ended.
_MOST = {"running": 10, "queued": 20, "settled": 10}
CALL_AGAIN = "call again"
END_TURN = "end your turn; nothing will change by waiting"


def brief(result: Result) -> dict[str, Any]:
    """A result as the Architect reads it first: bounded, with what to do next."""
    data = {
        "task_id": result.task_id,
        "title": title_in(result.task),
        "status": result.status,
        "reason": result.reason,
        "summary": _cut(result.summary),
        "remarks": _cut(result.remarks) if result.remarks else None,
        "commit_hash": result.commit_hash,
        "files_changed": [f.path for f in result.files_changed[:20]],
        "more_files": max(0, len(result.files_changed) - 20) or None,
        "warnings": result.warnings[:10],
        "denials": [line_of(d) for d in result.permission_denials[:5]],
        "cost_usd": result.cost_usd,
        "turns": result.turns,
        "next": _next_step(result),
    }  # fmt: skip
    return {k: v for k, v in data.items() if v not in (None, [], "")}


def _next_step(result: Result) -> str:
    if result.status == "success":
        return "review it before you accept it; requeue_task with guidance corrects it"
    if result.status == "needs_input":
        return (
            "answer with requeue_task guidance if it is clear, conventional or reversible; "
            "else escalate_to_user"
        )
    if result.reason == "cancelled":
        return "requeue_task runs it again"
    return "requeue_task with guidance if you can resolve it; else escalate_to_user"


def _cut(text: str) -> str:
    if len(text) <= _BRIEF_CHARACTERS:
        return text
    text = masked(text)  # a cut secret would not be known for one
    return f"{text[:_BRIEF_CHARACTERS].rstrip()}… (cut; get_task has all)"


def title_in(task: dict[str, Any]) -> str:
    """The title of a task that is still plain data."""
    title = task.get("title")
    instructions = task.get("instructions")
    if not isinstance(title, str):
        first = instructions[0] if isinstance(instructions, list) and instructions else ""
        title = str(first)
    return short_title(title)


@dataclass(slots=True)
class _Follow:
    run_uuid: str
    reader: RunReader


class ProgressReader:
    """Reads the log of the run that goes on, from where it stopped the last time."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._follow: _Follow | None = None

    def progress(self, task: Task, now: datetime) -> dict[str, Any]:
        """How far the run of a running task is. Seconds; what is not known yet is left out."""
        run = task.runs[-1]
        log = self._project.log(task.id)
        if self._follow is None or self._follow.run_uuid != run.uuid:
            self._follow = _Follow(run.uuid, RunReader(log, run.uuid))
        self._follow.reader.catch_up()
        transcript = self._follow.reader.transcript
        ended = transcript.ended
        known = {
            "turns": transcript.replies,
            "last_action": transcript.last_action,
            "elapsed_s": _seconds(now, run.started),
            "silent_s": _silent_s(log, now),
            "cost_usd": ended.session_cost_usd if ended else None,
        }
        return {k: v for k, v in known.items() if v is not None}


def _seconds(now: datetime, since: datetime) -> int:
    return max(0, int((now - since).total_seconds()))


def _silent_s(log: Path, now: datetime) -> int | None:
    try:
        return max(0, int(now.timestamp() - log.stat().st_mtime))
    except FileNotFoundError:
        return None


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to the question how it goes. `final`: waiting longer changes nothing."""

    data: dict[str, Any]
    final: bool
    #: a moment may change it though it is final: a pause is lifted, another server takes over
    passing: bool = False
    #: how far in the timeline it tells of what has ended; None when it tells of one task
    read_up_to: int | None = None
    #: the ended task that it tells of by its id, with the run
    told: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class _Held:
    """Why nothing is claimed; `passing` as in `Answer`."""

    data: dict[str, Any]
    passing: bool = False


class Observer:
    """Answers how it goes, again and again; knows what it has told already.

    A look changes nothing: what it found counts as told once `delivered` says so, since the caller
    may be gone before it has the answer. Looks of several threads follow each other.
    """

    def __init__(
        self,
        project: Project,
        env: Mapping[str, str],
        trouble: Callable[[], str | None] = lambda: None,
    ) -> None:
        """`trouble` says what keeps the worker of this process from working, if anything does."""
        self._project = project
        self._env = env
        self._trouble = trouble
        self._reader = ProgressReader(project)
        self._read = timeline.size_of(project.timeline)
        self._seen = self._read
        #: ended tasks that were told of by their id, with the run
        self._told: set[tuple[str, int]] = set()
        self._one_at_a_time = threading.Lock()

    def delivered(self, answer: Answer) -> None:
        """Takes note that an answer has been given: what it tells is not told again."""
        seen = answer.read_up_to
        was_replaced = self._read > timeline.size_of(self._project.timeline)
        if seen is not None and (seen > self._read or was_replaced):
            self._read = seen
        if answer.told is not None:
            self._told.add(answer.told)

    def look_at(self, task_id: str, now: datetime) -> Answer:
        """How one task goes.

        Raises:
            BadInput: it is not an id.
            NotFound: no such task.
        """
        with self._one_at_a_time:
            return self._look_at(task_id, now)

    def _look_at(self, task_id: str, now: datetime) -> Answer:
        broken = self._broken()
        if broken is not None:
            return broken
        located = locate(self._project, task_id, now)
        task = located.task
        if located.result is not None:
            data = {"state": located.state, "results": [brief(located.result)]}
            return Answer(data, True, told=(task.id, task.run))
        if located.state == "running":
            return self._running(task, now)
        held = self._held(now)
        base = {"state": "queued", "task_id": task.id}
        if held:
            return Answer(base | held.data, True, held.passing)
        return Answer(base | {"next": CALL_AGAIN}, False)

    def look(self, now: datetime) -> Answer:
        """What has ended since the last answer; else what runs, waits, or keeps the queue."""
        with self._one_at_a_time:
            while True:
                # Every move of a task is an event, so "idle" is true only if none came meanwhile.
                size = timeline.size_of(self._project.timeline)
                answer = self._look_once(now)
                if "last" not in answer.data or size == timeline.size_of(self._project.timeline):
                    return answer

    def _broken(self) -> Answer | None:
        """The answer when the folders themselves are gone; None when they are there."""
        if self._project.ai.is_dir():
            return None
        problem = missing(self._project, self._env)
        return Answer({"state": "paused", "reason": str(problem), "next": END_TURN}, True)

    def _look_once(self, now: datetime) -> Answer:
        broken = self._broken()
        if broken is not None:
            return broken
        results = self._news()
        seen = self._seen
        if results:
            state = results[0].status if len(results) == 1 else "ended"
            data: dict[str, Any] = {"state": state, "results": [brief(r) for r in results]}
            return Answer(data, True, read_up_to=seen)
        running = self._running_task(now)
        if running is not None:
            return self._running(running, now, read_up_to=seen)
        queued = count_files(self._project.queue)
        held = self._held(now)
        if queued and held is None:
            data = {"state": "queued", "waiting": queued, "next": CALL_AGAIN}
            return Answer(data, False, read_up_to=seen)
        data = {"state": "idle", "waiting": queued} | (held.data if held else {"next": END_TURN})
        passing = held is not None and held.passing
        return Answer(data | {"last": self._last_five()}, True, passing, read_up_to=seen)

    def _news(self) -> list[Result]:
        """Results that came since the last look and were not told of; at most the last ten."""
        events, self._seen = timeline.read_from(self._project.timeline, self._read)
        ended: dict[str, None] = {}
        for event in events:
            settled = event["event"] == "run_completed" and not event.get("retry")
            cancelled = event["event"] == "task_cancelled" and "run" not in event
            if settled or cancelled:
                ended[str(event.get("task_id"))] = None
        found = (read_result(self._project, task_id) for task_id in list(ended)[-10:])
        return [result for result in found if result is not None and self._is_news(result)]

    def _is_news(self, result: Result) -> bool:
        return (result.task_id, result.task.get("run")) not in self._told

    def _running_task(self, now: datetime) -> Task | None:
        for task_id in sorted(ids_in(self._project.running), key=sort_key):
            task = read_task(self._project.task_file(self._project.running, task_id), task_id, now)
            if task is not None and task.runs:
                return task
        return None

    def _running(self, task: Task, now: datetime, read_up_to: int | None = None) -> Answer:
        trouble = self._trouble()
        data = {
            "state": "running",
            "task_id": task.id,
            "progress": self._reader.progress(task, now),
        }
        if trouble is not None:
            data |= {"problem": trouble, "next": END_TURN}
            return Answer(data, True, read_up_to=read_up_to)
        return Answer(data | {"next": CALL_AGAIN}, False, read_up_to=read_up_to)

    def _held(self, now: datetime) -> _Held | None:
        """Why nothing is claimed; None when a worker claims what waits."""
        pause = read_pause(self._project)
        problem = missing(self._project, self._env) or self._trouble()
        if problem is not None:
            return _Held({"state": "paused", "reason": str(problem), "next": END_TURN})
        if pause is not None:
            data = {"state": "paused", **pause_data(pause), "next": END_TURN}
            return _Held(data, passing=_is_over(pause, now))
        if read_owner(self._project) is None:
            reason = "no worker: Claude Desktop or `loop work` must be open for this project"
            return _Held({"state": "no_worker", "reason": reason, "next": END_TURN}, passing=True)
        return None

    def _last_five(self) -> list[str]:
        events = timeline.last(self._project.timeline, 50)
        named: dict[str, str] = {}
        for event in reversed(events):
            if event["event"] == "run_completed" and len(named) < 5:
                named.setdefault(str(event.get("task_id")), str(event.get("status")))
        return [f"{task_id}: {status}" for task_id, status in named.items()]


def _is_over(pause: Pause, now: datetime) -> bool:
    """Whether the worker lifts a pause, or tries what it is about, as soon as it looks.

    Nothing must be missing here.
    """
    if pause.by != "worker":
        return False
    return pause.kind in MENDABLE if pause.until is None else pause.until <= now


def pause_data(pause: Pause) -> dict[str, Any]:
    """A pause as plain data."""
    data = {"reason": pause.reason, "by": pause.by}
    return data | ({"until": _time(pause.until)} if pause.until else {})


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def task_in_full(
    project: Project, task_id: str, log_tail_bytes: int, now: datetime
) -> dict[str, Any]:
    """Everything about one task; the end of its log when bytes are asked for.

    Raises:
        BadInput: it is not an id.
        NotFound: no such task.
    """
    located = locate(project, task_id, now)
    data: dict[str, Any] = {"state": located.state}
    if located.result is not None:
        data["result"] = {k: v for k, v in result_dict(located.result).items() if k != "task"}
    data["task"] = task_dict(located.task)
    if log_tail_bytes:
        tail = read_end(project.log(located.task.id), log_tail_bytes)
        data["log_tail"] = tail.decode(errors="replace")
    return data


def listing(
    project: Project, view: QueueView, state: str | None, limit: int, now: datetime
) -> dict[str, Any]:
    """A bounded list of tasks with counts: what runs, what waits in its order, what ended last."""
    sources = _sources(project, view)
    rows: list[dict[str, Any]] = []
    for name, source in sources.items():
        if state in (None, name) or (name == "settled" and state not in sources):
            rows += _rows(project, source.ids, state, limit - len(rows), now)
    return _listed(project, view, sources, rows)


@dataclass(frozen=True, slots=True)
class _Source:
    """Tasks of one kind: how many there are, and their ids, put in order as far as one reads."""

    count: int
    ids: Iterable[str]


def _sources(project: Project, view: QueueView) -> dict[str, _Source]:
    settled = set(ids_in(project.completed))
    # What has a result has ended, though its record may lie in running/ for a moment.
    running = sorted(set(ids_in(project.running)) - settled, key=sort_key)
    return {
        "running": _Source(len(running), running),
        "queued": _Source(len(view.tasks), (task.id for task in next_first(view.tasks.values()))),
        "settled": _Source(len(settled), _last_ended_first(project, settled)),
    }


def _last_ended_first(project: Project, settled: set[str]) -> Iterator[str]:
    """Settled tasks: those the timeline tells of by their ending, then the others by id."""
    told: dict[str, None] = {}
    for event in reversed(timeline.last(project.timeline, 200)):
        if event["event"] in ("run_completed", "task_cancelled") and not event.get("retry"):
            told[str(event.get("task_id"))] = None
    yield from (task_id for task_id in told if task_id in settled)
    yield from sorted(settled - told.keys(), key=sort_key, reverse=True)


def _rows(
    project: Project, ids: Iterable[str], state: str | None, most: int, now: datetime
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    if most <= 0:
        return rows
    for task_id in ids:
        row = _row(project, task_id, now)
        if row is not None and state in (None, row["state"]):
            rows.append(row)
        if len(rows) >= most:
            break
    return rows


def _listed(
    project: Project, view: QueueView, sources: dict[str, _Source], rows: list[dict[str, Any]]
) -> dict[str, Any]:
    counts = {name: source.count for name, source in sources.items()}
    data: dict[str, Any] = {"counts": counts, "tasks": rows}
    bad = [{"name": m.name, "reason": m.reason} for m in view.misfits]
    bad += [{"name": name, "reason": reason} for name, reason in invalid_files(project)]
    if bad:
        data["invalid"] = bad[:10]
    return data


def _row(project: Project, task_id: str, now: datetime) -> dict[str, Any] | None:
    try:
        located: Located = locate(project, task_id, now)
    except LoopError:
        return None
    row: dict[str, Any] = {
        "id": task_id,
        "state": located.state,
        "title": title_of(located.task),
        "priority": located.task.priority,
    }
    if located.result is not None:
        row |= {
            "reason": located.result.reason,
            "cost_usd": located.result.cost_usd,
            "completed_at": _time(located.result.completed_at),
        }
    return row


def overview(
    project: Project, view: QueueView, env: Mapping[str, str], now: datetime
) -> dict[str, Any]:
    """All that `loop status` shows."""
    owner = read_owner(project)
    pause = read_pause(project)
    problem = missing(project, env)
    sources = _sources(project, view)
    rows = [row for name, source in sources.items()
            for row in _rows(project, source.ids, None, _MOST[name], now)]  # fmt: skip
    data = _listed(project, view, sources, rows)
    reader = ProgressReader(project)
    for row in data["tasks"]:
        if row["state"] == "running":
            path = project.task_file(project.running, row["id"])
            task = read_task(path, row["id"], now)
            if task is not None and task.runs:
                row["progress"] = reader.progress(task, now)
    return {
        "project": project.name,
        "root": str(project.root),
        "worker": None
        if owner is None
        else {"pid": owner.pid, "driver": owner.driver, "since": _time(owner.since)},
        "paused": None if pause is None else pause_data(pause),
        "problem": None if problem is None else str(problem),
        **data,
    }
