"""What the next run of a task is told of its last one.

Owns: the words, and their bounds. Does not own: how the run was judged, what lies in the files.
"""

from __future__ import annotations

from collections.abc import Sequence

from loop.core.outcome import Ending, Outcome

_SAID_CHARACTERS = 1000
_STDERR_LINES = 5
_STDERR_CHARACTERS = 600
_SHOWN_PATHS = 20
#: Endings in whose cause Claude Code's own error output may have a part.
_ODD_ENDINGS = ("interrupted", "no_reply", "silent", "damaged_output", "api_error")


def broken_off(why: str) -> str:
    """That a run was broken off half-way, from outside."""
    return f"Your last run was broken off: {why}. Look at what is there before you go on."


def how_it_ended(ending: Ending, outcome: Outcome) -> str:
    """Why a run did not settle its task, and what was last seen of it."""
    transcript = ending.transcript
    parts = [f"it ended as {outcome.reason.replace('_', ' ')}. {outcome.summary}"]
    said = transcript.last_text.strip()
    if said and said not in outcome.summary:
        parts.append(f"The last it said:\n{_end_of(said, _SAID_CHARACTERS)}")
    if transcript.last_action and transcript.last_action not in said:
        parts.append(f"The last it did: {transcript.last_action}")
    errors = [line for line in ending.stderr.splitlines() if line.strip()][-_STDERR_LINES:]
    if errors and outcome.reason in _ODD_ENDINGS:
        tail = _end_of("\n".join(errors), _STDERR_CHARACTERS)
        parts.append(f"The end of its error output:\n{tail}")
    parts.append("Look at what is there before you go on, and do nothing again that is done.")
    return "\n".join(parts)


def what_it_left(changed: Sequence[str], uncommitted: Sequence[str]) -> str:
    """Which files earlier runs changed, and which of them are in no commit; empty when none."""
    if not changed:
        return ""
    lines = [f"Earlier runs of this task changed: {_paths(changed)}."]
    if uncommitted:
        lines.append(
            f"Not committed of that: {_paths(uncommitted)}. It may be half done: compare it with "
            "`git status` and `git diff` before you build on it, and commit what is right."
        )
    return "\n".join(lines)


def _paths(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _SHOWN_PATHS} more" if len(paths) > _SHOWN_PATHS else ""
    return ", ".join(paths[:_SHOWN_PATHS]) + more


def _end_of(text: str, most: int) -> str:
    return text if len(text) <= most else "…" + text[-most + 1 :].lstrip()
