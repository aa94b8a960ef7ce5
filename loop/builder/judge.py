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
from loop.core.transcript import Transcript
from loop.store.files import read, read_end
from loop.store.paths import Project

_STDERR_BYTES = 4096


def ending_of(
    project: Project, task: Task, run: Run, config: Config, changed: tuple[str, ...] | None
) -> Ending:
    """The ending of a run. `changed`: paths that it changed; None when nobody can tell."""
    exit_file = _object(project.run_file(task.id, "exit"))
    if exit_file.get("run") != run.uuid:
        exit_file = {}
    guard = _object(project.run_file(task.id, "guard"))
    if guard.get("run") != run.uuid:
        guard = {}
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
