"""Taking over the work of another system: import."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from loop.cli.parser import Command, folder

if TYPE_CHECKING:
    from loop.cli.view import View
    from loop.setup.importer import ImportReport, Row

_GLYPHS = {"imported": "success", "skipped": "queued", "refused": "failure",
           "set": "success", "kept": "queued", "unchanged": "queued", "none": "queued"}  # fmt: skip
#: Rows of a long list that say nothing but that all went well.
_MOST_PLAIN_ROWS = 30


def _import_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="DIR", type=folder, help="a .autonomy folder, or the folder above it"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="only say what would be imported"
    )  # fmt: skip


def take_over(given: Namespace) -> int:
    """Imports a folder; 1 when something in it could not be taken."""
    from pathlib import Path

    from loop.cli.place import project_of, utc_now
    from loop.cli.printing import show, write_json
    from loop.setup.importer import import_folder

    project = project_of(given)
    report = import_folder(project, Path(given.folder), utc_now(), dry_run=given.dry_run)
    if given.json:
        write_json(_data(report))
    else:
        show(_view(report))
    return 0 if report.complete else 1


def _counts(report: ImportReport) -> dict[str, int]:
    outcomes = [row.outcome for row in report.rows]
    return {outcome: outcomes.count(outcome) for outcome in ("imported", "skipped", "refused")}


def _data(report: ImportReport) -> dict[str, Any]:
    rows = [
        {"imported_id": row.old_id, "id": row.task_id, "outcome": row.outcome,
         "state": row.state, "title": row.title, "notes": row.notes}
        for row in report.rows
    ]  # fmt: skip
    return {
        "folder": str(report.folder),
        "dry_run": report.dry_run,
        "complete": report.complete,
        "counts": _counts(report),
        "tasks": rows,
        "fields_left_out": report.left_out,
        "settings": [asdict(setting) for setting in report.settings],
        "log_entries": report.log_entries,
        "other_files": report.other_files,
        "needs_approval": report.approval,
        "problems": report.problems,
    }


def _view(report: ImportReport) -> View:
    from loop.cli.view import View, cell, glyph
    from loop.cli.wording import one_line

    view = View()
    verb = "Would import" if report.dry_run else "Imported"
    view.line(cell(verb, "bold"), " from ", cell(report.folder))
    _tasks(view, report)
    if report.settings:
        view.heading("Settings")
        view.rows(
            (
                glyph(_GLYPHS.get(s.outcome, "failure")),
                cell(s.key),
                cell(f"→ {s.to}" if s.to else "→ (none)"),
                cell(s.outcome + (f": {s.note}" if s.note else "")),
            )
            for s in report.settings
        )
    for problem in report.problems:
        view.line(glyph("failure"), " ", cell(problem))
    if report.other_files:
        names = one_line(", ".join(report.other_files), 200)
        view.line(cell(f"Left there, not needed here: {names}", "dim"))
    counts = ", ".join(f"{count} {outcome}" for outcome, count in _counts(report).items())
    view.line().line(f"Tasks: {counts}. Entries of the handoff log: {report.log_entries}.")
    for hint in _hints(report):
        view.line(hint)
    return view


def _hints(report: ImportReport) -> list[str]:
    """What the person does next."""
    hints = []
    if report.approval:
        hints.append("Next: `loop allow --review` approves the commands; until then nothing runs.")
    if report.dry_run:
        hints.append("Nothing was changed; without --dry-run it is.")
    elif not report.complete:
        hints.append("Mend what was refused in that folder, and import it again.")
    return hints


def _tasks(view: View, report: ImportReport) -> None:
    from loop.cli.view import cell

    if not report.rows:
        return
    view.heading("Tasks")
    plain = [row for row in report.rows if row.outcome == "imported" and not row.notes]
    hidden = {id(row) for row in plain[_MOST_PLAIN_ROWS:]}
    view.rows((_row(row) for row in report.rows if id(row) not in hidden), fixed=4)
    if hidden:
        view.line(f"and {len(hidden)} more imported", indent=2)
    if report.left_out:
        names = ", ".join(f"{name} ({count})" for name, count in report.left_out.items())
        view.line(cell(f"Fields without a counterpart: {names}", "dim"))
    if any(row.outcome == "imported" and row.state == "queued" for row in report.rows):
        view.line(cell("Priorities are kept; here high is 10, normal 50, low 90.", "dim"))


def _row(row: Row) -> tuple[Any, ...]:
    from loop.cli.view import cell, glyph
    from loop.cli.wording import one_line

    words = one_line(row.title, 60)
    return (
        glyph(_GLYPHS[row.outcome]),
        cell(row.old_id),
        cell(f"→ {row.task_id or '-'}"),
        cell(row.state or row.outcome),
        cell("; ".join([words, *row.notes] if words else row.notes)),
    )


COMMANDS = (
    Command(
        "import",
        "Set up",
        "take over tasks, settings and log of a .autonomy folder",
        "Take over the tasks, settings and handoff log of a .autonomy folder, in which nothing is\n"
        "changed. It can be repeated: what was imported before is skipped. The exit code is 1\n"
        "when something could not be taken.",
        _import_arguments,
        take_over,
    ),
)
