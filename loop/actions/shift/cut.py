"""The end of a shift by an error of the API: no Stop hook fires, the session waits for a person.

The error is put on record as the end of the run at hand, and the binding goes; then the run is
settled like any that was left behind, by the same table as a headless one. So a limit pauses the
queue, and a defect of the service has the task tried again.
"""

from __future__ import annotations

from datetime import datetime

from loop.actions.in_session import end_in_session
from loop.actions.shift.over import end_shift
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.shift import at_hand, read_shift

_CHARACTERS = 1000


def cut_shift(project: Project, session: str, error: str, text: str, now: datetime) -> None:
    """Ends the shift of a session whose turn ended by an API error; what was reported counts.

    `error` is Claude Code's name for it, `text` what it says to the person; may be empty.

    Raises:
        LoopError: the disk or git does not take it; the session's end tries again.
    """
    with transition(project):  # what a hook that was killed had begun is finished first
        shift = read_shift(project)
    if shift is None or shift.session != session:
        return
    task = at_hand(project, shift, now)
    if task is not None:
        words = " ".join(text.split())[:_CHARACTERS] or f"API Error: {error.replace('_', ' ')}"
        end_in_session(project, task, None, {"error": error, "text": words})
    end_shift(project, shift, now)
