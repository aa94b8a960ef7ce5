"""Setting a project up: init, doctor, instructions, uninstall."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from loop.cli.parser import Command, UsageError, folder

if TYPE_CHECKING:
    from loop.cli.view import View
    from loop.setup.doctor import Finding
    from loop.setup.init import InitReport, Step

_STEP_GLYPHS = {"created": "success", "updated": "success", "skipped": "needs_input"}
_LEVELS = {"ok": ("✓", "green"), "note": ("·", ""), "warning": ("!", "yellow"),
           "error": ("✗", "red")}  # fmt: skip


def _init_arguments(parser: ArgumentParser) -> None:
    from loop.setup.presets import PRESETS

    parser.add_argument(
        "folder", metavar="DIR", nargs="?", type=folder, help="the folder; else the current one"
    )
    parser.add_argument(
        "--no-desktop", action="store_true", help="leave the configuration of Claude Desktop alone"
    )
    parser.add_argument(
        "--plugin",
        action="store_true",
        help="have your Claude Code load our commands, such as /loop:run",
    )
    parser.add_argument(
        "--preset",
        action="append",
        choices=PRESETS,
        help="allow the usual test commands of such a project; may be given several times",
    )


def init(given: Namespace) -> int:
    """Sets a folder up."""
    from pathlib import Path

    from loop.cli.place import here, utc_now
    from loop.cli.printing import show, write_json
    from loop.setup.allow import refuse_in_a_run
    from loop.setup.init import initialise

    refuse_in_a_run(os.environ)
    if given.folder is not None and given.project is not None:
        raise UsageError("init: give the folder once, as DIR or with --project")
    wanted = given.folder or given.project
    report = initialise(
        here() if wanted is None else Path(wanted),
        env=os.environ,
        python=Path(sys.executable),
        now=utc_now(),
        desktop=not given.no_desktop,
        with_plugin=given.plugin,
        presets=given.preset or (),
    )
    if given.json:
        steps = [_step_data(step) for step in report.steps]
        project = report.project
        write_json(
            {
                "project": project.name,
                "root": str(project.root),
                "server": report.server,
                "steps": steps,
                "instructions": report.instructions,
            }
        )
    else:
        show(_init_view(report))
    return 0


def _init_view(report: InitReport) -> View:
    from loop.cli.view import View, cell

    view = View()
    root = str(report.project.root)
    if not any(step.outcome in ("created", "updated") for step in report.steps):
        view.line(cell("✓", "green"), f" {root} is set up already; nothing was changed")
        odd = [s for s in report.steps if s.note and s.outcome != "unchanged"]
        return _add_steps(view, odd)
    view.line(cell("Set up", "bold"), " ", cell(root))
    _add_steps(view, report.steps)
    if not report.is_new:
        return view.line().line("`loop instructions` prints the Project Instructions again")
    if report.server is None:
        view.heading("Next")
        view.line('1. Queue a task: loop add "what is to be done"', indent=2)
        view.line("2. Have it done: loop work", indent=2)
        _add_commands(view, report)
        return view.line(
            "With a Claude Desktop: run `loop init` again, it prints what to paste there", indent=2
        )
    view.heading("Project Instructions: paste them into a Project of Claude Desktop")
    view.line().paragraph(report.instructions)
    view.heading("Next")
    view.line(
        f"1. Start Claude Desktop, which has the server {report.server} now, and paste the text "
        "above into a Project",
        indent=2,
    )
    view.line('2. Ask for something there, or here: loop add "what is to be done"', indent=2)
    return _add_commands(view, report)


def _add_commands(view: View, report: InitReport) -> View:
    from loop.setup.plugin import WHAT

    if any(step.what == WHAT and step.outcome != "skipped" for step in report.steps):
        words = "Or in a new session of Claude Code: /loop:plan REQUIREMENT, then /loop:run"
        view.line(words, indent=2)
    return view


def _add_steps(view: View, steps: list[Step]) -> View:
    from loop.cli.view import Cell, cell, glyph

    width = max((len(step.what) for step in steps), default=0)
    for step in steps:
        what = f" {step.outcome:<9}  {step.what:<{width}}  "
        view.line(glyph(_STEP_GLYPHS.get(step.outcome, "queued")), what, cell(step.where, "dim"))
        if step.note:
            view.line(Cell("→ "), cell(step.note), indent=13)
    return view


def _step_data(step: Step) -> dict[str, Any]:
    return {"what": step.what, "where": step.where, "outcome": step.outcome, "note": step.note}


def doctor(given: Namespace) -> int:
    """Examines a project and this machine; 1 when something keeps it from working."""
    from loop.cli.place import project_of
    from loop.cli.printing import show, write_json
    from loop.setup.doctor import examine

    project = project_of(given)
    findings = examine(project, env=os.environ)
    sound = all(finding.level != "error" for finding in findings)
    if given.json:
        rows = [{"ok": f.ok, "level": f.level, "what": f.what, "mend": f.mend} for f in findings]
        write_json({"root": str(project.root), "ok": sound, "findings": rows})
    else:
        show(_findings_view(findings))
    return 0 if sound else 1


def _findings_view(findings: list[Finding]) -> View:
    from loop.cli.view import Cell, View, cell

    view = View()
    for finding in findings:
        view.line(Cell(*_LEVELS[finding.level]), " ", cell(finding.what))
        if finding.mend:
            view.line(cell(f"→ {finding.mend}", "dim" if finding.ok else "bold"), indent=2)
    wrong = sum(f.level == "error" for f in findings)
    return view.line().line(
        f"{wrong} to mend before a task can run" if wrong else "Nothing keeps a task from running"
    )


def instructions(given: Namespace) -> int:
    """Prints the text for a Project of Claude Desktop."""
    from loop.cli.place import project_of
    from loop.cli.printing import write, write_json
    from loop.cli.wording import harmless
    from loop.setup.instructions import project_instructions, server_name_of

    project = project_of(given)
    server = server_name_of(project, env=os.environ)
    text = project_instructions(project, server)
    if given.json:
        write_json({"root": str(project.root), "server": server, "instructions": text})
    else:
        write(f"{harmless(text).rstrip()}\n")
    return 0


def _uninstall_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--purge", action="store_true", help="remove .ai/ too: queue, results, logs, settings"
    )


def uninstall(given: Namespace) -> int:
    """Takes our parts out of a project."""
    from loop.cli.place import project_of
    from loop.cli.printing import show, write_json
    from loop.cli.view import View, cell
    from loop.setup.uninstall import uninstall as take_out

    project = project_of(given)
    steps = take_out(project, env=os.environ, purge=given.purge)
    if given.json:
        write_json({"root": str(project.root), "steps": [_step_data(step) for step in steps]})
        return 0
    view = View().line(cell("Taken out of", "bold"), " ", cell(str(project.root)))
    _add_steps(view, steps)
    show(view)
    return 0


COMMANDS = (
    Command(
        "init",
        "Set up",
        "set a folder up, and Claude Desktop with it",
        "Set a folder up as a project: its .ai folder, the Builder's rules, CLAUDE.md and the\n"
        "server in the settings of Claude Desktop; with --plugin also the commands for your own\n"
        "sessions of Claude Code. The first run approves the Builder's rules; running it again\n"
        "harms nothing.",
        _init_arguments,
        init,
    ),
    Command(
        "doctor",
        "Set up",
        "find what keeps tasks from running, and what mends it",
        "Examine the project and this machine, and say what mends each thing found.\n"
        "The exit code is 1 when something keeps tasks from running.",
        lambda parser: None,
        doctor,
    ),
    Command(
        "instructions",
        "Set up",
        "print the Project Instructions for Claude Desktop",
        "Print the text to paste into the instructions of a Project in Claude Desktop.",
        lambda parser: None,
        instructions,
    ),
    Command(
        "uninstall",
        "Set up",
        "take our parts out of a project again",
        "Take exactly our parts out of the project and out of the settings of Claude Desktop, and\n"
        "with the last project that wanted it our plugin out of Claude Code. The .ai folder stays\n"
        "unless --purge is given.",
        _uninstall_arguments,
        uninstall,
    ),
)
