"""Beginning anew: reset."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from loop.cli.parser import Command
from loop.cli.wording import counted, listed

if TYPE_CHECKING:
    from loop.actions.reset import Outlook


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--hard", action="store_true", help="also what waits")
    parser.add_argument("--force", action="store_true", help="don't ask")


def reset(given: Namespace) -> int:
    """Puts out of sight what has ended."""
    from loop.actions.reset import outlook
    from loop.actions.reset import reset as begin_anew
    from loop.cli.place import project_of, utc_now
    from loop.cli.printing import say, write_json

    project, now = project_of(given), utc_now()
    ahead = outlook(project, now, hard=given.hard)
    nothing = not (ahead.cancelled or ahead.cleared or ahead.put_back)
    if not nothing and not given.force and not _asked(ahead):
        return 1
    done = ahead if nothing else begin_anew(project, now, hard=given.hard)
    if given.json:
        write_json(
            {
                "cleared": done.cleared,
                "cancelled": done.cancelled,
                "put_back": done.put_back,
                "kept": done.kept,
                "asking": done.asking,
                "folder": done.folder,
            }
        )
    elif nothing:
        say(f"nothing is to be cleared{_stays(done)}")
    else:
        where = f" into {done.folder}" if done.folder else ""
        say(f"✓ {_words(done, 'was', 'were')}{where}{_stays(done)}")
    return 0


def _asked(ahead: Outlook) -> bool:
    """Whether the person says yes, on a terminal; nobody else can be asked."""
    from loop.cli.printing import complain, write

    if sys.stdin is None or not sys.stdin.isatty():
        complain(f"nothing was reset: {_words(ahead, 'would be', 'would be')}; --force does it")
        return False
    write(
        f"{_words(ahead, 'will be', 'will be')}{_stays(ahead)}. Nothing is deleted. Go on? [y/N] "
    )
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    complain("nothing was reset")
    return False


def _words(what: Outlook, one: str, many: str) -> str:
    words = []
    if what.put_back:
        words.append(f"{listed(what.put_back)} {_is(what.put_back, one, many)} put back")
    if what.cleared:
        ended = counted(len(what.cleared), "ended task")
        words.append(f"{ended} {_is(what.cleared, one, many)} put away")
    if what.cancelled:
        these = what.cancelled
        words.append(f"{listed(these)} {_is(these, one, many)} cancelled and put away")
    return ", ".join(words)


def _is(these: list[str], one: str, many: str) -> str:
    return one if len(these) == 1 else many


def _stays(what: Outlook) -> str:
    words = [f"{what.kept} still waiting"] if what.kept else []
    if what.asking:
        words.append(f"{listed(what.asking)} still asking")
    return f"; {', '.join(words)}" if words else ""


COMMANDS = (
    Command(
        "reset",
        "Day by day",
        "put away what has ended, and begin anew",
        "Put what has ended, its logs and the handoff log out of sight, into .ai/archive/.\n"
        "Blocked tasks are cancelled and go with it; a run that was interrupted is put back.\n"
        "What waits or asks stays, and with it the parts of the same task. With --hard nothing\n"
        "stays. Nothing is deleted: ids are not given again, the timeline goes on, a success\n"
        "that was put away still counts, and `loop status ID` and `loop requeue ID` find it.\n"
        "Refused while a task runs. It asks first; without a terminal, give --force.",
        _arguments,
        reset,
    ),
)
