"""Judging and taking back what a task did: review, undo."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from loop.cli.parser import Command, whole

if TYPE_CHECKING:
    from loop.cli.view import View


def _review_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("task_id", metavar="ID", help="the task, such as 42 or 42.1")
    parser.add_argument("--path", metavar="P", help="this file or folder alone")
    parser.add_argument(
        "--max-bytes", metavar="N", type=whole(0), help="bytes of the diff at most; 0 for none"
    )


def review(given: Namespace) -> int:
    """Shows what a task did."""
    from loop.actions.review import MOST_DIFF_BYTES
    from loop.actions.review import review as look
    from loop.cli.place import project_of, utc_now
    from loop.cli.printing import show, write_json

    most = MOST_DIFF_BYTES if given.max_bytes is None else given.max_bytes
    data = look(project_of(given), given.task_id, given.path, most, utc_now())
    if given.json:
        write_json(data)
    else:
        show(_review_view(data))
    return 0


def _review_view(data: dict[str, Any]) -> View:
    from loop.cli.view import View, cell, glyph
    from loop.cli.wording import dollars

    state = data["status"]
    view = View().line(
        glyph(state), " ", cell(data["task_id"], "bold"), f" {state}  ", cell(data["title"], "bold")
    )
    reason = "" if data["reason"] == state else f"{data['reason']} · "
    undone = " · undone" if data.get("undone") else ""
    view.line(f"{reason}{dollars(data.get('cost_usd'))}{undone}", indent=2)
    view.line().paragraph(data["summary"], indent=2)
    if data.get("remarks"):
        view.heading("Remarks").paragraph(data["remarks"], indent=2)
    for name, heading in (
        ("warnings", "Warnings"),
        ("denials", "Denied"),
        ("files", "Files"),
        ("commits", "Commits"),
    ):
        if data.get(name):
            view.heading(heading)
            for text in data[name]:
                view.line(cell(text), indent=2)
            if data.get(f"more_{name}"):
                view.line(f"and {data[f'more_{name}']} more", indent=2)
    if data.get("verification"):
        view.heading("Verification").line(cell(data["verification"]), indent=2)
    if data.get("diff"):
        view.heading("Changes").paragraph(data["diff"])
    if data.get("not_shown"):
        view.heading("Not shown").line(cell(", ".join(data["not_shown"])), indent=2)
        view.line("--path shows one of them", indent=2)
    if data.get("note"):
        view.line().line(cell(data["note"]), indent=2)
    return view


def _undo_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("task_id", metavar="ID", help="the task, such as 42 or 42.1")
    parser.add_argument(
        "--force", action="store_true", help="take back also what others have changed since"
    )


def undo(given: Namespace) -> int:
    """Takes back what a task changed; 1 when nothing could be taken back."""
    from loop.actions.undo import undo as take_back
    from loop.cli.place import project_of, utc_now
    from loop.cli.printing import show, write_json
    from loop.cli.view import View, cell

    done = take_back(project_of(given), given.task_id, "user", utc_now(), force=given.force)
    if given.json:
        write_json(
            {
                "task_id": done.task_id,
                "taken_back": done.taken_back,
                "overtaken": done.overtaken,
                "commit": done.commit,
                "redone": done.redone,
                "not_committed": done.skipped,
            }
        )
        return 0 if done.taken_back else 1
    what = "brought back" if done.redone else "taken back"
    view = View()
    if done.taken_back:
        view.line(cell("✓", "green"), f" {what}: ", cell(", ".join(done.taken_back)))
        view.line(f"`loop undo {done.task_id}` again reverses this", indent=2)
    else:
        view.line(cell("✗", "red"), f" nothing was {what}")
    if done.skipped:
        view.line("not committed: ", cell(done.skipped), indent=2)
    if done.overtaken:
        why = "something that no snapshot holds is there" if given.force else "changed since"
        view.line(f"{why}, left as they are: ", cell(", ".join(done.overtaken)), indent=2)
        if not given.force:
            view.line("--force takes them back, too", indent=2)
    show(view)
    return 0 if done.taken_back else 1


COMMANDS = (
    Command(
        "review",
        "Look",
        "show what a task did: summary, files, changes, warnings",
        "Show what a task did: its summary, the files with their lines, the changes, commits,\n"
        "denials, verification and warnings.",
        _review_arguments,
        review,
    ),
    Command(
        "undo",
        "Day by day",
        "take back what a task changed",
        "Take back what only this task changed. Files that others changed since are left and\n"
        "named. Doing it again brings the work back. Never while a task is running.",
        _undo_arguments,
        undo,
    ),
)
