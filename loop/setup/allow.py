"""`loop allow`: rules that the person adds deliberately, and the review of what else changed.

Owns: what is refused, putting a rule into the project's file and the approved copy, what is shown
before something is approved. Does not own: how a rule is judged (core/rules.py), the approval
itself (builder/permissions.py).

Invariants: a rule is added to both files or refused; whatever else the two differ in stays as
unapproved as it was. In the files all other bytes stay. A review approves what was shown, even if
a file changed meanwhile. A Builder can approve nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loop.builder.permissions import (
    Difference,
    Request,
    approve,
    approved_file,
    difference,
    keep,
    request_of,
)
from loop.core.rule_set import narrowed, rules_in
from loop.core.rules import object_to, parts, rule_path
from loop.core.task import decode_object
from loop.errors import BadInput, LoopError, NotReady, WrongState
from loop.setup.json_text import JsonProblem, append_value
from loop.store.files import cannot_write, read, replace
from loop.store.paths import Project
from loop.store.project_files import load_config

_ALLOW = ("permissions", "allow")


@dataclass(frozen=True)
class Added:
    """What `add_rules` did."""

    added: list[str]
    there_already: list[str]
    #: whether something else still waits for its approval
    pending: bool


@dataclass(frozen=True)
class InForce:
    """The rules that count now."""

    allow: list[str]
    deny: list[str]
    ask: list[str]
    #: whether the project asks for more than that
    pending: bool


def refuse_in_a_run(env: Mapping[str, str]) -> None:
    """Does nothing unless a Builder calls.

    Raises:
        WrongState: it does.
    """
    if "LOOP_RUN" in env:
        raise WrongState("a run can't approve rules: do it in a terminal of your own")


def add_rules(project: Project, rules: Sequence[str], *, anyway: bool = False) -> Added:
    """Allows each of the rules, in the project's file and in what is approved; all or none.

    `anyway` takes a dangerous one, too, but never one that would do nothing.

    Raises:
        BadInput: a rule is dead or dangerous; nothing was changed.
        LoopError: a file is missing, can't be understood or written.
    """
    asked, copy = read(project.builder_settings), read(approved_file(project))
    if asked is None or copy is None:
        raise NotReady("permissions", "the Builder's rules are not approved yet: run `loop init`")
    deny = rules_in(_settings(asked), "deny") + rules_in(_settings(copy), "deny")
    for rule in rules:
        _refuse(project, rule, deny, anyway=anyway)
    wanted = list(dict.fromkeys(rules))
    new_asked, new_copy = _with_rules(asked, wanted), _with_rules(copy, wanted)
    try:
        # The copy first: what is asked for and not approved would stop the worker for a moment.
        keep(project, new_copy)
        if new_asked != asked:
            replace(project.builder_settings, new_asked)
    except OSError as error:
        raise cannot_write(approved_file(project), error) from None
    before = [
        rule
        for rule in wanted
        if all(rule in rules_in(_settings(data), "allow") for data in (asked, copy))
    ]
    added = [rule for rule in wanted if rule not in before]
    return Added(added, before, difference(project, request_of(project)).more)


def in_force(project: Project) -> InForce:
    """The rules that count now: what was approved, and what the project asks for less.

    Raises:
        NotReady: nothing was approved, or a file can't be understood.
    """
    request = request_of(project)
    found = difference(project, request)
    settings = _settings(read(approved_file(project)) or b"")
    if request.rules is not None:
        settings = narrowed(settings, _settings(request.rules))
    allow, deny, ask = (rules_in(settings, where) for where in ("allow", "deny", "ask"))
    return InForce(allow, deny, ask, found.more)


@dataclass(frozen=True)
class Review:
    """What a person sees before they approve it."""

    request: Request
    difference: Difference

    @property
    def nothing(self) -> bool:
        """Whether all is as it was approved."""
        found = self.difference
        return not (found.rules or found.files or found.commands)


def review(project: Project) -> Review:
    """What differs between what the project asks for and what was approved.

    Raises:
        NotReady: nothing was approved, or a file can't be understood.
    """
    request = request_of(project)
    return Review(request, difference(project, request))


def approve_reviewed(project: Project, seen: Review) -> None:
    """Approves what was seen; what changed since then is not in it.

    Raises:
        LoopError: it can't be written.
    """
    request = seen.request
    if request.rules is None:
        # The project's file is gone: the rules stay, only the other files are looked at.
        request = Request(read(approved_file(project)), request.files, request.command)
    try:
        approve(project, request)
    except OSError as error:
        raise cannot_write(approved_file(project), error) from None


def _refuse(project: Project, rule: str, deny: Sequence[str], *, anyway: bool) -> None:
    objection = object_to(rule, rule_path(project.root), deny)
    if objection is None:
        tool = parts(rule)[0]
        offered = load_config(project).builder.tools.replace(" ", "").split(",")
        if tool in offered or tool in ("Task", "Glob", "Grep") or tool.startswith("mcp__"):
            return
        raise BadInput(
            f"`{rule}`",
            f"the Builder has no tool {tool}; add it to builder.tools in .ai/config.json first",
        )
    if objection.kind == "dangerous":
        if anyway:
            return
        raise BadInput(f"`{rule}`", f"{objection.why}, or give --anyway")
    raise BadInput(f"`{rule}`", objection.why)


def _with_rules(data: bytes, rules: Sequence[str]) -> bytes:
    present = rules_in(_settings(data), "allow")
    try:
        mark = "\ufeff" if data.startswith(b"\xef\xbb\xbf") else ""
        text = data.decode("utf-8-sig")
        for rule in rules:
            if rule not in present:
                text = append_value(text, _ALLOW, rule)
    except (JsonProblem, UnicodeDecodeError) as problem:
        raise LoopError(
            f".ai/builder.settings.json: {problem}; mend it by hand and try again"
        ) from None
    return (mark + text).encode()


def _settings(data: bytes) -> dict[str, object]:
    try:
        return decode_object(data)
    except BadInput as error:
        raise NotReady("permissions", f".ai/builder.settings.json: {error}") from None
