"""How the queue is shown to people. Made from what actions/status.py says, and nothing else."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from loop.cli.event_rows import progress_words
from loop.cli.view import Cell, View, Words, cell, glyph
from loop.cli.wording import dollars, pause_reason, short_time

_SHOWN = 10


def status_view(data: dict[str, Any], now: datetime) -> View:
    """The project, its worker, what keeps it, what runs, waits and has ended, and misfits."""
    view = View().line(cell(data["project"], "bold"), "  ", cell(data["root"], "dim"))
    view.line("worker   ", *_worker(data["worker"], now))
    if data["paused"] and not (data["problem"] and _ends_when_mended(data["paused"])):
        view.line("paused   ", glyph("paused"), " ", *_pause(data["paused"], now))
    if data["problem"]:
        view.line("problem  ", glyph("failure"), " ", cell(data["problem"], "red"))
    rows, counts = data["tasks"], data["counts"]
    _running(view, [row for row in rows if row["state"] == "running"])
    _waiting(view, [row for row in rows if row["state"] == "queued"], counts["queued"])
    ended = [row for row in rows if row["state"] not in ("running", "queued")]
    _ended(view, ended, counts["settled"])
    if data.get("invalid"):
        view.heading("Files that are no tasks")
        view.rows(
            (glyph("failure"), cell(bad["name"]), cell(bad["reason"])) for bad in data["invalid"]
        )
    if not rows:
        view.line().line('The queue is empty: loop add "what is to be done"')
    return view


def _worker(worker: dict[str, Any] | None, now: datetime) -> list[Cell]:
    if worker is None:
        return [cell("none is open", "yellow"),
                Cell("; open Claude Desktop, or run `loop work`")]  # fmt: skip
    if not worker["pid"]:
        return [cell("open", "green")]
    since = short_time(worker["since"], now)
    return [cell("open", "green"),
            Cell(f": {worker['driver']}, process {worker['pid']}, since {since}")]  # fmt: skip


def _ends_when_mended(pause: dict[str, Any]) -> bool:
    """Whether it is the worker's, for something missing: the problem says it, and more lately."""
    return pause["by"] == "worker" and not pause.get("until")


def _pause(pause: dict[str, Any], now: datetime) -> list[Words]:
    until = f", until {short_time(pause['until'], now)}" if pause.get("until") else ""
    why = pause_reason(pause["reason"], pause["by"])
    by = f"by the {pause['by']}{until}"
    return [
        cell(why or by, "yellow"),
        f" ({by}); `loop resume` lifts it" if why else "; `loop resume` lifts it",
    ]


def _running(view: View, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    view.heading("Running")
    for row in rows:
        view.rows([_task(row)])
        if "progress" in row:
            view.line(cell(progress_words(row["progress"]), "dim"), indent=3)


def _waiting(view: View, rows: list[dict[str, Any]], count: int) -> None:
    if not count:
        return
    view.heading(f"Waiting ({count})")
    view.rows(
        (*_task(row), cell("" if row["priority"] == "normal" else row["priority"]))
        for row in rows[:_SHOWN]
    )
    _more(view, count - len(rows[:_SHOWN]))


def _ended(view: View, rows: list[dict[str, Any]], count: int) -> None:
    if not count:
        return
    view.heading("Ended")
    view.rows((*_task(row), cell(_ending(row), glyph(row["state"]).style)) for row in rows[:_SHOWN])
    _more(view, count - len(rows[:_SHOWN]))


def _more(view: View, count: int) -> None:
    if count > 0:
        view.line(cell(f"and {count} more", "dim"), indent=3)


def _task(row: dict[str, Any]) -> tuple[Cell, ...]:
    return glyph(row["state"]), cell(row["id"], "bold"), cell(row["title"])


def _ending(row: dict[str, Any]) -> str:
    reason = row.get("reason")
    words = row["state"] if reason in (None, row["state"]) else f"{row['state']}: {reason}"
    return f"{words}, {dollars(row.get('cost_usd'))}"
