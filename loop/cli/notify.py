"""Notifications by hand: notify, test-notify."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from loop.cli.parser import Command, number

#: What to write into the settings, for who has written nothing yet.
_HOW = (
    "nothing is configured: set notify.feishu, dingtalk, wecom, serverchan or urls in "
    ".ai/config.json; of a desktop there is none here, or notify.desktop is off"
)


def _notify_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--within",
        metavar="S",
        type=number(0, more_than=True),
        default=25.0,
        help="seconds that it may take at most",
    )


def notify(given: Namespace) -> int:
    """Sends what is due; 1 when a service is not through."""
    from loop.actions.notify import send_due
    from loop.cli.place import project_of
    from loop.cli.printing import say, write_json

    late = send_due(project_of(given), os.environ, given.within)
    if given.json:
        write_json({"through": not late, "late": late})
    elif late:
        say(f"not sent yet by {', '.join(late)}; it is tried again when something happens")
    else:
        say("nothing is left to send")
    return 1 if late else 0


def try_out(given: Namespace) -> int:
    """Sends a test message by each service; 1 when one did not take it."""
    from loop.actions.notify import send_trial
    from loop.cli.place import project_of
    from loop.cli.printing import show, write_json
    from loop.cli.view import View, cell, glyph
    from loop.errors import NotReady

    tried = send_trial(project_of(given), os.environ)
    if not tried:
        raise NotReady("notify", _HOW)
    if given.json:
        rows = [
            {"service": t.service, "where": t.where, "ok": t.arrived, "said": t.said} for t in tried
        ]
        write_json({"ok": all(t.arrived for t in tried), "services": rows})
    else:
        view = View()
        view.rows(
            (
                glyph("success" if t.arrived else "failure"),
                cell(t.service, "bold"),
                cell(t.where, "dim"),
                cell(t.said),
            )
            for t in tried
        )
        show(view)
    return 0 if all(t.arrived for t in tried) else 1


COMMANDS = (
    Command(
        "test-notify",
        "Set up",
        "send a test message by each service of notify",
        "Send a test message by each service that is configured, and show what it said.\n"
        "The exit code is 1 when one did not take it.",
        lambda parser: None,
        try_out,
    ),
    Command(
        "notify",
        "Day by day",
        "send the notifications that are due, where no worker does",
        "Send what is due of the notifications. A worker does so by itself; this is for a\n"
        "queue that nobody works on. What can't be sent stays due for the next one.",
        _notify_arguments,
        notify,
    ),
)
