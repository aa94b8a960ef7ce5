"""Pausing and resuming the queue."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from loop.cli.parser import Command


def _pause_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("reason", nargs="*", metavar="REASON", help="why, for whoever looks")


def pause(given: Namespace) -> int:
    """Pauses the queue."""
    from loop.actions.change import pause as hold
    from loop.actions.held import pause_data
    from loop.cli.place import project_of, utc_now
    from loop.cli.printing import say, write_json
    from loop.cli.wording import pause_reason

    now = utc_now()
    reason = " ".join(given.reason).strip() or None
    current = hold(project_of(given), "user", reason, now)
    changed = current.since == now
    why = pause_reason(current.reason, current.by)
    words = f": {why}" if why else ""
    if given.json:
        write_json({"paused": pause_data(current), "changed": changed})
    elif changed:
        say(f"‖ paused{words}; what runs goes on, `loop resume` lifts it")
    else:
        say(f"‖ was paused already by the {current.by}{words}")
    return 0


def resume(given: Namespace) -> int:
    """Lifts the pause."""
    from loop.actions.change import resume as lift
    from loop.actions.held import pause_data
    from loop.cli.place import project_of, utc_now
    from loop.cli.printing import say, write_json
    from loop.cli.wording import pause_reason

    lifted = lift(project_of(given), "user", utc_now())
    if given.json:
        write_json({"lifted": pause_data(lifted) if lifted else None, "changed": bool(lifted)})
    elif lifted:
        why = pause_reason(lifted.reason, lifted.by)
        say(f"▶ resumed; it was paused by the {lifted.by}" + (f": {why}" if why else ""))
    else:
        say("the queue was not paused; nothing was changed")
    return 0


COMMANDS = (
    Command(
        "pause",
        "Day by day",
        "pause the queue; what runs goes on",
        "Pause the queue: what runs goes on, nothing new is started until `loop resume`.",
        _pause_arguments,
        pause,
    ),
    Command(
        "resume",
        "Day by day",
        "lift the pause",
        "Lift the pause in force, whoever made it; tasks are started again at once.",
        lambda parser: None,
        resume,
    ),
)
