"""Everything that is known of a run once its processes are gone, read from its files."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from loop.builder.stream import read_run
from loop.core.config import Config
from loop.core.outcome import Ending
from loop.core.role import leaves_notes
from loop.core.task import Run, Task
from loop.core.transcript import Ended, Transcript
from loop.store.files import read, read_end
from loop.store.paths import Project
from loop.store.run_report import read_report

_STDERR_BYTES = 4096


def ending_of(
    project: Project, task: Task, run: Run, config: Config, changed: tuple[str, ...] | None
) -> Ending:
    """The ending of a run. `changed`: paths that it changed; None when nobody can tell."""
    if run.driver == "session":
        return _ending_in_session(project, task, run, changed)
    exit_file = _of_run(project.run_file(task.id, "exit"), run)
    guard = _of_run(project.run_file(task.id, "guard"), run)
    stderr = read_end(project.err(task.id), _STDERR_BYTES).decode(errors="replace")
    transcript = read_run(project.log(task.id), run.uuid)
    return Ending(
        transcript=transcript,
        mode=config.builder.report,
        could_not_start=_could_not_start(exit_file, transcript, stderr),
        ended_by=_text(exit_file.get("ended_by")),
        exit=_number(exit_file.get("exit")),
        signal=_number(exit_file.get("signal")),
        stderr=stderr,
        changed=changed,
        judged_at=datetime.now().astimezone(),
        refusals=_number(guard.get("refusals")) or 0,
        guard_trouble=_text(guard.get("trouble")),
        leaves_notes=leaves_notes(task.role),
        readme_missing=guard.get("gave_up") is True,
        swept=tuple(
            str(process.get("command"))
            for process in exit_file.get("swept") or []
            if isinstance(process, dict)
        ),
    )


def _ending_in_session(
    project: Project, task: Task, run: Run, changed: tuple[str, ...] | None
) -> Ending:
    """The ending of a run that an interactive session did: its report in place of exit and log."""
    guard = _of_run(project.run_file(task.id, "guard"), run)
    exit_file = _of_run(project.run_file(task.id, "exit"), run)
    said = read_report(project, task)
    given = msgspec.to_builtins(said.report) if said else None
    ended = Ended(subtype="success", text=said.report.summary if said else "")
    refused = exit_file.get("api_error")
    error = None
    if said is None and isinstance(refused, dict):
        from loop.core.api_error import ended_by_api_error  # a Stop hook has no time for it

        error = str(refused.get("error"))
        ended = ended_by_api_error(error, str(refused.get("text")))
    return Ending(
        transcript=Transcript(
            lines=1, session_id=run.session, ended=ended, report=given, error=error
        ),
        ended_by=_text(exit_file.get("ended_by")),
        exit=0,
        changed=changed,
        judged_at=datetime.now().astimezone(),
        guard_trouble=_text(guard.get("trouble")),
        readme_missing=guard.get("gave_up") is True,
    )


def _of_run(path: Path, run: Run) -> dict[str, Any]:
    found = _object(path)
    return found if found.get("run") == run.uuid else {}


def exit_time(project: Project, task: Task, run: Run) -> datetime | None:
    """When the shim saw the run end; None when it could not say."""
    path = project.run_file(task.id, "exit")
    if _object(path).get("run") != run.uuid:
        return None
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _could_not_start(exit_file: dict[str, Any], transcript: Transcript, stderr: str) -> str | None:
    error = _text(exit_file.get("error"))
    if error:
        return error
    began = transcript.replies or (transcript.ended and transcript.ended.turns)
    if exit_file.get("exit") != 1 or began:
        return None  # stderr may hold the words of an earlier run
    for line in reversed(stderr.splitlines()):
        if "unknown option" in line:
            return f"this Claude Code is too old ({line.strip()}): update it with `claude update`"
        if "No conversation found" in line or "is already in use" in line:
            return line.strip()
    return None


def _object(path: Path) -> dict[str, Any]:
    try:
        data = msgspec.json.decode(read(path) or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return data if isinstance(data, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
