"""An error of the API that ended a turn of an interactive session, as the end of a run.

A headless run says so by its result line. A session's hook is given only what Claude Code calls the
error, and the words on the screen; from both comes the same ending, so that the one table of
outcome.py decides.
"""

from __future__ import annotations

import re

from loop.core.transcript import Ended

#: The status that stands behind a name, where the words don't tell it.
_STATUS = {
    "rate_limit": 429,
    "overloaded": 529,
    "authentication_failed": 401,
    "invalid_request": 400,
    "model_not_found": 404,
}
_SAID_STATUS = re.compile(r"API Error: ([45]\d\d)\b|\(([45]\d\d)\)")
_TOO_LONG = re.compile(r"prompt is too long", re.IGNORECASE)


def ended_by_api_error(error: str, text: str) -> Ended:
    """The ending by an error that Claude Code calls `error`, such as `rate_limit`, in its words."""
    said = _SAID_STATUS.search(text)
    status = int(said[1] or said[2]) if said else _STATUS.get(error)
    too_long = error == "invalid_request" and _TOO_LONG.search(text) is not None
    return Ended(
        subtype="success",
        is_error=True,
        terminal_reason="prompt_too_long" if too_long else "api_error",
        api_error_status=status,
        text=text,
    )
