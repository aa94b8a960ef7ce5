"""What to do with a file in `.ai/running/`: the crash table.

A run goes through these steps; the machine may stop after any of them. Transitions of the task's
state are whole by themselves (store/journal.py); this table is about what lies between them.

    step that was the last to be done        what is found                        do
    ---------------------------------------- ------------------------------------ -------
    claim: record written, nothing started   no line of this run in the log       LAUNCH
    launcher started, shim not yet           the same; the shim refuses twice     LAUNCH
    shim started, Builder running            the log is locked                    WAIT
    (the same, and its log removed           processes that bear the run live     WAIT)
    Builder ended, exit file written         log free, exit file of this run      JUDGE
    shim killed, or the machine restarted    log free, line in the log, no exit   JUDGE
    (judged: interrupted, or by its result line if the Builder had got that far; what it left
    running is ended first, and while its shim lives, by pid, start and boot, it is waited for)
    snapshot or checkpoint made              as before; both bear repetition      JUDGE
    completed file written, not removed      a completed copy of run >= this one  CLEAR
    given back to the queue, not removed     a queued copy of a later run         CLEAR
    an interactive session's run, bound      its process lives, or a hook ends it HELD
    the same, its session ended or killed    no living binding to this run        JUDGE
    the record can't be read                 -                                    SET_ASIDE

A run of an interactive session (`driver: session`) is nobody else's: it is never launched, waited
for or adopted. While the session lives it is left alone (HELD). Then it is judged by its report if
there is one; without one it was interrupted, and goes back to the queue once.

Two facts make LAUNCH safe: a shim runs only while it holds the log's lock, and it refuses a run
that has a line in the log already. So of two launches of one run, one is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Found(Enum):
    """What to do with a running file."""

    #: start the run that was claimed
    LAUNCH = "launch"
    #: it runs; wait for its end
    WAIT = "wait"
    #: it has ended; read exit file and log
    JUDGE = "judge"
    #: it is settled already; remove what was left
    CLEAR = "clear"
    #: an interactive session works on it
    HELD = "held"
    #: nobody can tell what it is; keep it in invalid/
    SET_ASIDE = "set_aside"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What lies in the folders about one running file."""

    readable: bool
    #: number of the run in the running file
    run: int
    #: run of the completed copy; None without one
    completed_run: int | None
    #: run of the queued copy; None without one
    queued_run: int | None
    #: the lock on the log is held
    log_locked: bool
    #: our line for this run is in the log
    launched: bool
    #: an exit file of this run is there
    exited: bool
    #: it is the run of an interactive session
    in_session: bool = False
    #: the session that has it is alive, or a hook is ending it
    held: bool = False


def decide(evidence: Evidence) -> Found:
    """The one thing to do."""
    if not evidence.readable:
        return Found.SET_ASIDE
    if evidence.completed_run is not None and evidence.completed_run >= evidence.run:
        return Found.CLEAR
    if evidence.queued_run is not None and evidence.queued_run > evidence.run:
        return Found.CLEAR
    if evidence.in_session:
        return Found.HELD if evidence.held else Found.JUDGE
    if evidence.log_locked:
        return Found.WAIT
    if evidence.launched or evidence.exited:
        return Found.JUDGE
    return Found.LAUNCH
