"""Sessions of Claude Code on disk: whether an earlier one can be continued."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from loop.core.task import Run, Task

#: Reasons after which a session would only meet the same end again.
_NEVER = frozenset({"prompt_too_long", "damaged_output", "no_reply", "silent", "could_not_start"})


def session_to_resume(task: Task, env: Mapping[str, str]) -> str | None:
    """The session that the task's next run continues; None starts afresh."""
    last = task.runs[-1] if task.runs else None
    if task.fresh or last is None or last.session is None or last.reason in _NEVER:
        return None
    if last.driver == "session":  # a person's own, which may be at work again
        return None
    if not last.turns and last.status == "paused":
        return None
    return last.session if transcript_of(last.session, env) is not None else None


def transcript_of(session: str, env: Mapping[str, str]) -> Path | None:
    """The file in which Claude Code has kept a session; None when it has not."""
    base = env.get("CLAUDE_CONFIG_DIR")
    home = Path(env.get("HOME") or Path.home())
    projects = (Path(base) if base else home / ".claude") / "projects"
    return next(projects.glob(f"*/{session}.jsonl"), None)


def cost_before(runs: list[Run], session: str) -> float:
    """US dollars that a session had cost before its last run; Claude Code counts them together."""
    return sum(run.cost or 0.0 for run in runs[:-1] if run.session == session)
