"""The Builder's rules from the person's side: allow one, list them, review what changed."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from loop.cli.parser import Command, UsageError

if TYPE_CHECKING:
    from loop.cli.view import View
    from loop.setup.allow import InForce, Review
    from loop.store.paths import Project

_PENDING = "the project asks for more; `loop allow --review` shows it"


def _allow_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("rules", metavar="RULE", nargs="*", help="such as 'Bash(npm test)'")
    parser.add_argument("--anyway", action="store_true", help="also a rule that allows too much")
    parser.add_argument(
        "--review", action="store_true", help="show what changed since the approval, and approve it"
    )
    parser.add_argument("--yes", action="store_true", help="with --review: approve without asking")


def allow(given: Namespace) -> int:
    """Allows rules, lists them, or reviews what changed."""
    from loop.cli.place import project_of
    from loop.setup.allow import refuse_in_a_run

    if given.review and given.rules:
        raise UsageError("allow: give rules or --review, not both")
    if given.yes and not given.review:
        raise UsageError("allow: --yes belongs to --review")
    if given.anyway and not given.rules:
        raise UsageError("allow: --anyway belongs to a rule")
    project = project_of(given)
    if given.review:
        return _review(project, given)
    if not given.rules:
        return _list(project, given)
    refuse_in_a_run(os.environ)
    return _add(project, given)


def _add(project: Project, given: Namespace) -> int:
    from loop.cli.printing import show, write_json
    from loop.cli.view import View, cell
    from loop.setup.allow import add_rules

    done = add_rules(project, given.rules, anyway=given.anyway)
    if given.json:
        write_json({"added": done.added, "there": done.there_already, "pending": done.pending})
        return 0
    view = View()
    for rule in done.added:
        view.line(cell("✓", "green"), " allowed: ", cell(rule, "bold"))
    for rule in done.there_already:
        view.line(cell("·"), " allowed already: ", cell(rule))
    if done.pending:
        view.line(cell("!", "yellow"), f" the worker still waits: {_PENDING}")
    show(view)
    return 0


def _list(project: Project, given: Namespace) -> int:
    from loop.cli.printing import show, write_json
    from loop.setup.allow import in_force

    rules = in_force(project)
    if given.json:
        lists = {"allow": rules.allow, "deny": rules.deny, "ask": rules.ask}
        write_json({**lists, "pending": rules.pending})
    else:
        show(_rules_view(rules))
    return 0


def _rules_view(rules: InForce) -> View:
    from loop.cli.view import View, cell

    view = View()
    # Nobody answers in a run: to ask is to deny.
    for heading, listed in (("Allowed", rules.allow), ("Denied", [*rules.deny, *rules.ask])):
        view.heading(heading)
        for rule in listed or ["nothing"]:
            view.line(cell(rule), indent=2)
    if rules.pending:
        view.line().line(cell("!", "yellow"), f" {_PENDING}")
    return view


def _review(project: Project, given: Namespace) -> int:
    from loop.cli.printing import show, write_json
    from loop.setup.allow import approve_reviewed, refuse_in_a_run, review

    seen = review(project)
    if not given.json:
        show(_review_view(seen))
    approve = not seen.nothing and (given.yes or (not given.json and _asked()))
    if approve:
        refuse_in_a_run(os.environ)
        approve_reviewed(project, seen)
    if given.json:
        write_json(_review_data(seen) | {"approved": approve or seen.nothing})
    elif approve:
        from loop.cli.printing import say

        say("✓ approved")
    return 0 if approve or seen.nothing else 1


def _asked() -> bool:
    """Whether the person says yes, on a terminal; nobody else can be asked."""
    from loop.cli.printing import complain, write

    if sys.stdin is None or not sys.stdin.isatty():
        complain("not approved: look at it, then run `loop allow --review --yes`")
        return False
    write("Approve this? [y/N] ")
    answer = sys.stdin.readline().strip().lower()
    if answer in ("y", "yes"):
        return True
    complain("not approved; the worker waits")
    return False


def _review_view(seen: Review) -> View:
    from loop.cli.view import View, cell

    view = View()
    if seen.nothing:
        return view.line(cell("✓", "green"), " all is as it was approved")
    if seen.difference.rules:
        view.heading(".ai/builder.settings.json")
        for change in seen.difference.rules:
            sign, colour = ("+", "green") if change.added else ("-", "red")
            weight = "" if change.more else "  (asks for less: counts already)"
            view.line(cell(sign, colour), f" {change.where}: ", cell(change.what), weight, indent=2)
    if seen.difference.commands:
        view.heading(".ai/config.json: what is executed")
        for change in seen.difference.commands:
            sign, colour = ("+", "green") if change.added else ("-", "red")
            view.line(cell(sign, colour), f" {change.where}: ", cell(change.what), indent=2)
    for file in seen.difference.files:
        view.heading(f"{file.path} {file.how}")
        for line in _diff(file.approved, file.now):  # all of it: it is about to be approved
            colours = {"+": "green", "-": "red"}
            view.line(cell(line, colours.get(line[:1], "dim")), indent=2)
    return view.line()


def _diff(then: str | None, now: str | None) -> list[str]:
    from difflib import unified_diff

    old, new = (then or "").splitlines(), (now or "").splitlines()
    return list(unified_diff(old, new, n=1, lineterm=""))[2:]


def _review_data(seen: Review) -> dict[str, Any]:
    return {
        "rules": [
            {"where": c.where, "added": c.added, "what": c.what, "more": c.more}
            for c in seen.difference.rules
        ],
        "commands": [
            {"where": c.where, "added": c.added, "what": c.what, "more": c.more}
            for c in seen.difference.commands
        ],
        "files": [
            {"path": f.path, "how": f.how, "diff": _diff(f.approved, f.now)}
            for f in seen.difference.files
        ],
    }


COMMANDS = (
    Command(
        "allow",
        "Set up",
        "let the Builder do more, or review what it may do",
        "Add rules to what the Builder may do, in .ai/builder.settings.json, and approve\n"
        "exactly these. Without a rule, list what is in force. With --review, show what the\n"
        "project's files ask for beyond what was approved, and approve it.",
        _allow_arguments,
        allow,
    ),
)
