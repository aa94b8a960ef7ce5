"""How the queue is shown to people. Made from what actions/overview.py says, and nothing else."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from loop.cli.event_rows import progress_words
from loop.cli.shift_view import during_pause, shift_lines, worker_waits
from loop.cli.view import Cell, View, Words, cell, glyph
from loop.cli.wording import dollars, listed, pause_reason, short_time, span


def status_view(data: dict[str, Any], now: datetime) -> View:
    """The project, its worker, what keeps it, what runs, waits and has ended, and misfits."""
    view = View().line(cell(data["project"], "bold"), "  ", cell(data["root"], "dim"))
    shift = data.get("shift")
    if shift:
        who, ends = shift_lines(shift, now)
        view.line("shift    ", cell(who, "cyan")).line(cell(ends, "dim"), indent=9)
        view.line("worker   ", worker_waits(data["worker"]))
    else:
        view.line("worker   ", *_worker(data["worker"], now))
    if data["paused"] and not (data["problem"] and _ends_when_mended(data["paused"])):
        meanwhile = f"; {during_pause(data['paused']['by'])}" if shift else ""
        words = _pause(data["paused"], now)
        view.line("paused   ", glyph("paused"), " ", *words, meanwhile)
    if data["problem"]:
        view.line("problem  ", glyph("failure"), " ", cell(data["problem"], "red"))
    if failed := data["notification_failed"]:
        when, what = short_time(failed["ts"], now), f"{failed['service']}: {failed['reason']}"
        view.line(
            "notify   ", glyph("failure"), f" {when} ", cell(what), "; try `loop test-notify`"
        )
    rows, counts = data["tasks"], data["counts"]
    _running(view, [row for row in rows if row["state"] == "running" and "parts" not in row])
    tree = [row for row in rows if row.get("waits")]
    waiting = sum(count for name, count in counts.items() if name not in _NOT_WAITING)
    _waiting(view, tree, waiting, counts.get("blocked", 0))
    ended = [row for row in rows if row["state"] != "running" and not row.get("waits")]
    _ended(view, ended, counts["settled"] - sum(_has_ended(row) for row in tree))
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


def _waiting(view: View, rows: list[dict[str, Any]], count: int, blocked: int) -> None:
    if not rows:
        return
    view.heading(f"Waiting ({count}, {blocked} blocked)" if blocked else f"Waiting ({count})")
    view.rows(
        ((*_branch(row), cell(_standing(row), _STYLES.get(row["state"], ""))) for row in rows),
        cut=2,
    )
    _more(view, count - sum(not _has_ended(row) and row["state"] != "running" for row in rows))


#: Counts of what does not wait.
_NOT_WAITING = ("running", "parents_under_way", "settled")
_STYLES = {"blocked": "red", "failure": "red", "success": "dim", "needs_input": "yellow"}


def _has_ended(row: dict[str, Any]) -> bool:
    return "reason" in row


def _runs(row: dict[str, Any]) -> bool:
    return row["state"] == "running" and "parts" not in row


def _branch(row: dict[str, Any]) -> tuple[Cell, ...]:
    """A task of the tree; a subtask stands under its parent."""
    depth = row["id"].count(".")
    branch = "  " * (depth - 1) + "└ " if depth else ""
    return glyph(row["state"]), cell(branch + row["id"], "bold"), cell(row["title"])


def _standing(row: dict[str, Any]) -> str:
    """How a task of the tree stands."""
    if _has_ended(row):
        return _ending(row)
    words = [] if row["priority"] == "normal" else [str(row["priority"])]
    if row.get("next"):
        words.append("next")
    if row["state"] == "blocked":
        words.append(f"blocked by {row['cause']} ({row.get('cause_reason', 'failed')})")
    elif _runs(row):
        words.append(f"runs {span(row.get('progress', {}).get('elapsed_s', 0))}")
    if row.get("waits_for") and row["state"] != "blocked":
        asking = row.get("asking", [])
        names = [f"{n} (asks)" if n in asking else n for n in row["waits_for"]]
        words.append(f"waits for {listed(names, 3)}")
    if "parts" in row:
        words += _parts(row)
    return ", ".join(words)


def _parts(row: dict[str, Any]) -> list[str]:
    parts, cost = row["parts"], row.get("cost_usd")
    words = [f"{parts.get('success', 0)} of {sum(parts.values())} done"]
    words += [f"{parts['failure']} failed"] if parts.get("failure") else []
    words += [f"{parts['needs_input']} asks"] if parts.get("needs_input") else []
    return words + ([dollars(cost)] if cost else [])


def _ended(view: View, rows: list[dict[str, Any]], count: int) -> None:
    if not rows:
        return
    view.heading(f"Ended ({count})" if count > len(rows) else "Ended")
    endings = ((*_task(row), cell(_ending(row), glyph(row["state"]).style)) for row in rows)
    view.rows(endings, wrapped=2)
    _more(view, count - len(rows))


def _more(view: View, count: int) -> None:
    if count > 0:
        view.line(cell(f"and {count} more; --all shows them", "dim"), indent=3)


def _task(row: dict[str, Any]) -> tuple[Cell, ...]:
    return glyph(row["state"]), cell(row["id"], "bold"), cell(row["title"])


def _ending(row: dict[str, Any]) -> str:
    reason = row.get("reason")
    words = [row["state"] if reason in (None, row["state"]) else f"{row['state']}: {reason}"]
    words = [_BY_HAND.get(word, word) for word in words]
    if reason not in ("by_hand", "subtasks"):
        words.append(dollars(row.get("cost_usd")))
    if row.get("duration_s"):
        words.append(span(row["duration_s"]))
    return ", ".join(words)


_BY_HAND = {
    "success: by_hand": "success, by hand",
    "failure: by_hand": "failure, by hand",
    "success: subtasks": "success, all its subtasks",
    "failure: subtasks": "failure, by a subtask",
}
