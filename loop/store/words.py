"""Files by which a session hands words to a command, so that no shell ever reads them.

The session writes `.ai/state/words-SESSION.json`; the command that took the words in removes it.
One that was refused stays, to be mended.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from loop.store.paths import Project


def words_file(session: str) -> str:
    """The file of a session, as seen from the project's folder."""
    return f".ai/state/words-{session}.json"


def used_up(project: Project, given: str | None) -> None:
    """Removes the file that was given to a command, if it is a session's."""
    if given is None:
        return
    path = Path(given).resolve()
    if path.parent == project.state.resolve() and path.match("words-*.json"):
        with suppress(OSError):  # it harms nobody
            path.unlink()
