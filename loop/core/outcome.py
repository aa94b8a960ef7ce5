"""How a run ended: one table, read from the top; the first line that fits decides.

The table is the contract's. An ending is a result (success, failure, needs_input), or a pause: the
account, the login or the service refused, which says nothing about the task. Only an ERROR result
of Claude Code itself can be a pause; what the model or a file wrote never is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from loop.core.denial import denials_of, line_of
from loop.core.result import Denial, Report, report_from
from loop.core.split import usable_parts
from loop.core.transcript import Ended, Transcript

#: Reasons after which the worker itself tries again, while attempts last.
RETRIED = frozenset(
    {"interrupted", "no_reply", "silent", "damaged_output", "api_error", "verification_failed"}
)
#: `api_error_status` of an account or a service that refuses for now.
_PAUSE_BY_STATUS = {
    401: "login",
    402: "credit",
    429: "rate_limit",
    503: "overload",
    529: "overload",
}
#: What Claude Code calls an error on the synthetic message before the result line.
_PAUSE_BY_ERROR = {"billing_error": "credit", "authentication_failed": "login"}
#: The same, where the account itself is refused whatever the status says.
_LOGIN_ERRORS = frozenset(
    {
        "oauth_org_not_allowed", "account_on_hold", "verification_required",
        "cloud_credential_error",
    }
)  # fmt: skip
#: Patterns are text here and compiled when they are first looked for: most runs need none, and a
#: hook of a session has no time for it.
_PAUSE_BY_TEXT = (
    ("login", r"please run /login|not logged in|invalid api key|oauth (?:token|session)"
              r"|authentication_error|could not be refreshed"),
    ("credit", r"credit balance is too low|insufficient credit|billing_error"),
    ("usage_limit", r"usage limit reached|hit your (?:[\w-]+ )?limit|limit reached"),
    ("overload", r"overloaded"),
)  # fmt: skip
#: Exit codes that stand for a signal.
_KILLED = (129, 130, 137, 143)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Everything that is known of a run once its processes are gone."""

    transcript: Transcript
    mode: Literal["schema", "marker"] = "schema"
    #: why Claude Code could not be started; None when it was
    could_not_start: str | None = None
    #: timeout, no_reply, silent, cancelled, interrupted, lingering; None when it ended by itself
    ended_by: str | None = None
    #: exit code; None when unknown or ended by a signal
    exit: int | None = None
    signal: int | None = None
    #: last lines of stderr
    stderr: str = ""
    #: paths that the run changed; None when nobody can tell
    changed: tuple[str, ...] | None = ()
    #: paths that earlier runs of the task changed
    changed_earlier: tuple[str, ...] = ()
    #: why nobody can tell; None when that is known, or there is no repository
    unseen: str | None = None
    #: how often the guard refused the report
    refusals: int = 0
    #: the guard let a report pass though the README has no new entry
    readme_missing: bool = False
    #: why the guard could not judge; None when it could
    guard_trouble: str | None = None
    #: commands of processes that the run left behind
    swept: tuple[str, ...] = ()
    #: the time at which it is judged, with the zone of this machine; None when that is no matter
    judged_at: datetime | None = None
    #: what the verification said, when it failed the run; None when it did not
    red_after_green: str | None = None
    #: the task's role changes no file: what it leaves are the notes of its report
    leaves_notes: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an ending means for the task."""

    #: `paused` decides nothing
    status: Literal["success", "failure", "needs_input", "paused"]
    reason: str
    summary: str
    remarks: str | None = None
    warnings: tuple[str, ...] = ()
    report: Report | None = None
    denials: tuple[Denial, ...] = ()
    #: of a usage limit: when it ends; None when it was not said. Other pauses have no known end
    until: datetime | None = None
    #: another attempt can't help
    permanent: bool = False


@dataclass(slots=True)
class _Facts:
    """An ending with what is derived from it once."""

    ending: Ending
    ended: Ended | None = field(init=False)
    report: Report | None = field(init=False)
    pause: str | None = field(init=False)
    failed: bool = field(init=False)

    def __post_init__(self) -> None:
        t = self.ending.transcript
        self.ended = t.ended
        self.failed = bool(t.ended and (t.ended.is_error or t.ended.terminal_reason == "api_error"))
        self.pause = _pause_kind(t.ended, t) if t.ended and self.failed else None
        self.report = report_from(t.report) if self.ending.mode == "schema" else None
        if self.report is None and self._cut_off_by_refusal():
            self.report = report_from(t.report_given)
            self.failed = self.report is None

    def _cut_off_by_refusal(self) -> bool:
        """The guard's refusal cost the turn in which the report would have been accepted."""
        reason = self.ended.terminal_reason if self.ended else None
        return (
            self.ending.mode == "schema"
            and self.ending.refusals > 0
            and self.failed
            and reason in ("max_turns", "budget_exhausted")
        )

    @property
    def could_not_start(self) -> bool:
        e = self.ending
        by_itself = e.ended_by is None and e.exit not in (None, 0, *_KILLED)
        silent_exit = by_itself and not e.transcript.lines
        return e.could_not_start is not None or silent_exit

    @property
    def killed(self) -> bool:
        """Ended by somebody or something that is not us, before it could say how it went."""
        e = self.ending
        if self.ended is not None:
            return self.failed and (self.ended.terminal_reason or "").startswith("aborted")
        return e.exit is None or e.exit in _KILLED

    @property
    def splits(self) -> bool:
        """The report hands on what is left to do as subtasks."""
        reported = self.report is not None and self.report.outcome in ("done", "no_change_needed")
        return reported and bool(self.report and usable_parts(self.report.subtasks))

    @property
    def other_work(self) -> bool:
        """Its work is not in the files: subtasks, or notes where the role leaves only those."""
        notes = self.report.notes if self.report else None
        return self.splits or (self.ending.leaves_notes and bool(notes and notes.strip()))

    @property
    def refused(self) -> bool:
        """The API says that the request itself is wrong: no model of that name, not allowed."""
        status = self.ended.api_error_status if self.ended else None
        return status is not None and 400 <= status < 500

    @property
    def text(self) -> str:
        """The Builder's last words."""
        given = self.ending.transcript.report_given or {}
        said = given.get("summary") if self.failed else None
        last = self.ended.text if self.ended else ""
        return last or (said if isinstance(said, str) else "") or self.ending.transcript.last_text


_Test = Callable[[_Facts], bool]


def _by(reason: str) -> _Test:
    return lambda f: f.ending.ended_by == reason


def _terminal(*reasons: str) -> _Test:
    return lambda f: (
        f.failed
        and f.ended is not None
        and (f.ended.terminal_reason in reasons or f.ended.subtype in reasons)
    )


def _asks(f: _Facts) -> bool:
    reported = f.report is not None and f.report.outcome == "needs_input"
    return reported or f.ending.transcript.question is not None


def _says_nothing(f: _Facts) -> bool:
    if f.splits:
        return False
    if f.ending.mode == "schema":
        return f.report is None or not f.report.summary.strip()
    return not f.text.strip()


_FUTURE = (
    r"(?:(?:I|we)(?:'|’)ll|(?:I|we) will|(?:I(?:'|’)m|I am|we(?:'|’)re|we are) going to|will"
    r"|I(?:'|’| ha)ve (?:started|begun|kicked off|launched|triggered) [^.]{1,80}? and will)"
)
#: One of them is in each text that `_PROMISE` or `_STILL_RUNS` matches.
_GOES_ON_WORDS = ("ll", "will", "going to", "continued")
_STILL_WORDS = ("running", "working", "waiting")
_LEAD = (
    r"^\W{0,9}(?:(?:and|so|then|now|next|first|ok|okay|meanwhile|(?:once|when) [^,]{1,80}),?\s+)"
    r"{0,2}"
)
_ADVERBS = r"(?:(?:now|then|just|first|also|begin|start|by)\s+){0,3}"
#: A sentence that says that the work goes on after the report; there is no such time.
_PROMISE = (
    rf"{_LEAD}{_FUTURE}\s+{_ADVERBS}"
    r"(?:(?:continue|resume|go on|carry on|proceed|finish|complete|report|check|get|come|follow up"
    r"|update you|let you know|keep (?:monitoring|watching|checking|going|working|you posted)"
    r"|pick (?:this |it |that )?up|do the (?:rest|remaining))\b"
    r".{0,80}?\b(?:later|once|when|after|soon|shortly|as soon as|until|tomorrow|posted"
    r"|in (?:a|the next) (?:few )?(?:seconds?|minutes?|moments?|while|session|turn))\b"
    r"|wait\b.{0,40}?\b(?:for|until)\b)"
    r"|^\W{0,9}to be continued\W*$"
)
_STILL_RUNS = (
    r"^\W{0,9}(?:the|an?|my|all|both)?\s*(?:[\w-]+\s+){0,2}?(?:tests?|suite|build|compilation"
    r"|installation|agents?|subagents?|checks?|commands?)\s+(?:is|are)\s+(?:still\s+running\b"
    r"|still\s+working\b|(?:now |currently )?running in the background\W*$)"
    r"|^\W{0,9}(?:(?:I(?:'|’)m|I am|we(?:'|’)re|we are|still|now|currently)\s+){0,2}waiting"
    r" (?:for|on)\b.{1,60}?\b(?:to (?:finish|complete|end|pass)|results?)\W*$"
)
#: What makes such a sentence an offer, or a note on work that is no part of this task.
_HONEST = (
    r"\bif\b|\byour?\b.{0,30}\b(?:want|wish|like|prefer|decide|decision|confirm|approve|ask|need"
    r"|answer|say|go-ahead)"
    r"|\b(?:later|next|another|separate|follow-?up|future|own) (?:task|run|change|pr|step|release)"
)
#: With nothing changed: words that only begin.
_BEGINNING = (
    r"^\W{0,9}(?:(?:ok|okay|sure|first|now|next|alright|great|understood|certainly|got it"
    r"|to (?:start|begin)(?: with)?)[,.!]?\s+){0,2}"
    rf"(?:(?:{_FUTURE}|let me|let(?:'|’)s|I need to)\s+{_ADVERBS}"
    r"(?:start|begin|look|read|check|explor|examin|inspect|investigat|analy[sz]|search"
    r"|find|open|creat|add|writ|implement|updat|mak|set up|fix|run|go through|take a look"
    r"|understand)\w*\b|let me (?:now )?continue\b"
    r"|(?:I(?:'|’)m |I am )?(?:starting|beginning) (?:by|with)\b)"
)
_SENTENCE = r"(?<=[.!?])\s+|;\s+(?=(?:I|we|will)\b)|\n+"
#: Of a long text only the end can be the promise.
_LAST_CHARACTERS = 2000


def _announces(f: _Facts) -> bool:
    """It says that the work will go on later, or only that it begins, with no change to be seen.

    In doubt it is none: an honest summary that fails a task with work in it does more harm.
    """
    said = _words(f.report, f.text)
    if f.splits or (f.report is not None and f.report.outcome == "no_change_needed"):
        return False
    if not f.ending.changed and not f.other_work and _says(_BEGINNING, said):
        return True
    return any(
        _goes_on(sentence) and not _says(_HONEST, sentence)
        for sentence in re.split(_SENTENCE, said[-_LAST_CHARACTERS:])
    )


def _goes_on(sentence: str) -> bool:
    words = sentence.lower()
    promises = any(word in words for word in _GOES_ON_WORDS) and _says(_PROMISE, sentence)
    return promises or (
        any(word in words for word in _STILL_WORDS) and _says(_STILL_RUNS, sentence)
    )


def _says(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None


def _denied(f: _Facts) -> bool:
    return bool(f.ending.transcript.denials) and f.ending.changed == () and not f.other_work


#: reason, status, test. Order is the rule.
TABLE: tuple[tuple[str, str, _Test], ...] = (
    ("could_not_start", "failure", lambda f: f.could_not_start),
    ("timeout", "failure", _by("timeout")),
    ("no_reply", "failure", _by("no_reply")),
    ("silent", "failure", _by("silent")),
    ("cancelled", "failure", _by("cancelled")),
    ("interrupted", "failure", lambda f: f.ending.ended_by == "interrupted" or f.killed),
    ("damaged_output", "failure", lambda f: f.ended is None),
    ("login", "paused", lambda f: f.pause == "login"),
    ("credit", "paused", lambda f: f.pause == "credit"),
    ("usage_limit", "paused", lambda f: f.pause == "usage_limit"),
    ("rate_limit", "paused", lambda f: f.pause == "rate_limit"),
    ("overload", "paused", lambda f: f.pause == "overload"),
    ("turn_limit", "failure", _terminal("max_turns", "error_max_turns")),
    ("budget", "failure", _terminal("budget_exhausted", "error_max_budget_usd")),
    ("prompt_too_long", "failure", _terminal("prompt_too_long")),
    ("no_report", "failure", _terminal("structured_output_retry_exhausted")),
    ("api_error", "failure", lambda f: f.failed),
    ("needs_input", "needs_input", _asks),
    ("reported", "failure", lambda f: f.report is not None and f.report.outcome == "failed"),
    ("no_report", "failure", _says_nothing),
    ("no_report", "failure", _announces),
    ("denied", "failure", _denied),
    ("verification_failed", "failure", lambda f: f.ending.red_after_green is not None),
    ("success", "success", lambda _f: True),
)


def classify(ending: Ending) -> Outcome:
    """What the ending of a run means."""
    facts = _Facts(ending)
    reason, status = next((r, s) for r, s, test in TABLE if test(facts))
    denials = denials_of(ending.transcript.denials)
    if reason == "success" and facts.report and facts.report.outcome == "no_change_needed":
        reason = "no_change_needed"
    return Outcome(
        status=status,  # type: ignore[arg-type]
        reason=reason,
        summary=_summary(reason, status, facts, denials),
        remarks=_remarks(status, facts),
        warnings=tuple(_warnings(status, facts, denials)),
        report=facts.report,
        denials=denials,
        until=_until(facts) if reason == "usage_limit" else None,
        permanent=reason == "api_error" and facts.refused,
    )


def _pause_kind(ended: Ended, transcript: Transcript) -> str | None:
    if ended.terminal_reason not in (None, "api_error"):
        return None
    if ended.api_error == "usage_limit_reached":
        return "usage_limit"
    if transcript.error in _LOGIN_ERRORS:
        return "login"
    if transcript.error in _PAUSE_BY_ERROR and ended.api_error_status != 403:
        return _PAUSE_BY_ERROR[transcript.error]
    by_status = _PAUSE_BY_STATUS.get(ended.api_error_status or 0)
    by_text = next((kind for kind, pattern in _PAUSE_BY_TEXT if _says(pattern, ended.text)), None)
    if by_status == "rate_limit" and by_text == "usage_limit":
        return by_text
    return by_status or (by_text if ended.api_error_status in (None, 400, 403) else None)


def _until(facts: _Facts) -> datetime | None:
    from loop.core.reset_time import from_epoch, reset_time  # time zones are slow to come

    epoch = facts.ending.transcript.limit_reset
    if epoch is not None:
        return from_epoch(epoch)
    now = facts.ending.judged_at
    return reset_time(facts.text, now) if now is not None else None


_PLAIN = {
    "timeout": "Ended by us: the run took longer than its time limit.",
    "no_reply": "Ended by us: the model gave no first reply in time.",
    "silent": "Ended by us: no output for too long while no tool call was open.",
    "cancelled": "Cancelled while it ran.",
    "damaged_output": "Claude Code ended without a readable result line.",
    "turn_limit": "The turn limit was reached before the Builder gave its report.",
    "budget": "The cost limit of the run was reached before the Builder gave its report.",
    "prompt_too_long": "The prompt was too long for the model; make the task smaller.",
    "no_report": "The Builder ended without a report of work that is done.",
}


def _summary(reason: str, status: str, facts: _Facts, denials: tuple[Denial, ...]) -> str:
    ending, report = facts.ending, facts.report
    if reason == "could_not_start":
        why = ending.could_not_start or _last_line(ending.stderr) or "it said nothing"
        seen = "" if ending.exit is None else f" (exit {ending.exit})"
        return f"Claude Code could not start{seen}: {why}"
    if reason == "interrupted":
        how = f"signal {ending.signal}" if ending.signal else "its processes were gone"
        if ending.exit is not None:
            how = f"exit {ending.exit}"
        return f"The run was interrupted before it ended ({how})."
    if reason == "denied":
        calls = "; ".join(line_of(d) for d in denials[:3]) + ("; ..." if denials[3:] else "")
        return (
            f"Nothing was changed; the rules denied: {calls}. {_words(report, facts.text)}".strip()
        )
    if reason == "verification_failed":
        return f"Verification failed: {ending.red_after_green}"
    if status == "paused" or reason == "api_error":
        code = facts.ended.api_error_status if facts.ended else None
        return _words(None, facts.text) or f"the API answered with an error ({code})"
    said = _words(report, facts.text)
    return f"{_PLAIN[reason]} {said}".strip() if reason in _PLAIN else said or "(no summary)"


def _words(report: Report | None, text: str) -> str:
    return (report.summary if report and report.summary.strip() else text).strip()


def _remarks(status: str, facts: _Facts) -> str | None:
    report, marker = facts.report, facts.ending.transcript.question
    if status != "needs_input":
        return (report.remark or report.blockers) if report else None
    if report is None or report.outcome != "needs_input":
        return marker
    question = report.question or report.remark or report.summary
    lines = [question, *(f"- {option}" for option in report.options)]
    if marker and marker not in question:
        lines.append(marker)
    return "\n".join(lines)


def _warnings(status: str, facts: _Facts, denials: tuple[Denial, ...]) -> list[str]:
    ending = facts.ending
    found = [*_exit_warnings(status, facts)]
    if status != "failure":
        found += [f"denied: {line_of(d)}" for d in denials]
    if facts.report and ending.transcript.report is None:
        found.append("the limit was reached at the guard's refusal; the refused report counts")
    if status == "success" and facts.report:
        found += _gaps(facts, facts.report)
    if ending.readme_missing:
        found.append("README.md has no new entry under Recent Changes")
    if ending.guard_trouble:
        found.append(f"the README guard could not judge: {ending.guard_trouble}")
    if ending.changed is None:
        why = ending.unseen or "not a git repository"
        found.append(f"{why}: changes are not listed and can't be undone")
    found += [f"left running after the run and ended: {command}" for command in ending.swept]
    return found


def _gaps(facts: _Facts, report: Report) -> Iterator[str]:
    """Where a report of success says more than can be seen, or less than others need."""
    empty = len(report.subtasks) - len(usable_parts(report.subtasks))
    if empty:
        yield f"{empty} subtasks of the report say nothing and were left out"
    if facts.ending.leaves_notes and not facts.other_work:
        yield "the report has no notes: tasks that stand on this one learn only its summary"
    if facts.ending.changed is None:
        return
    changed = facts.ending.changed + facts.ending.changed_earlier
    missing = [path for path in report.files_changed if not _is_changed(path, changed)]
    if missing:
        yield f"the report names files that the run did not change: {', '.join(missing[:20])}"


def _exit_warnings(status: str, facts: _Facts) -> Iterator[str]:
    ending = facts.ending
    if ending.ended_by == "lingering":
        yield "Claude Code did not exit after its result and was ended"
    elif status == "success" and ending.signal is not None:
        yield f"ended with signal {ending.signal} after its result"
    elif status == "success" and ending.exit != 0:
        seen = ending.exit is not None
        yield f"ended with exit {ending.exit} after its result" if seen else "nobody saw its exit"
    if ending.transcript.damaged:
        yield f"{ending.transcript.damaged} damaged lines in the log"


def _is_changed(claimed: str, changed: tuple[str, ...]) -> bool:
    bare = claimed.removeprefix("./")
    return any(bare == path or bare.endswith("/" + path) for path in changed)


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def retry_follows(reason: str, attempt: int, max_attempts: int, last_reason: str | None) -> bool:
    """Whether the worker runs the task again by itself.

    `attempt` is the one that ended, `last_reason` that of the attempt before it (None without one).
    An interrupted run is tried once more; the same failure twice in a row stops.
    """
    return reason in RETRIED and attempt < max_attempts and reason != last_reason
