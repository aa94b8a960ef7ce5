"""How one task is shown to people, in full."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from loop.cli.event_rows import progress_words
from loop.cli.view import View, cell, glyph
from loop.cli.wording import counted, dollars, for_person, listed, one_line, short_time, span
from loop.core.denial import told

_FIELDS = (
    "priority", "type", "target", "author", "depends_on", "parent", "role", "model",
    "timeout_minutes", "max_turns", "max_budget_usd", "max_attempts", "key",
)  # fmt: skip
_LISTS = (
    ("instructions", "Instructions"),
    ("acceptance_criteria", "Done when"),
    ("acceptance", "Checked by"),
    ("guidance", "Guidance"),
)


def task_view(data: dict[str, Any], now: datetime) -> View:
    """The task, its runs, and its result when it has ended."""
    task, state = data["task"], data["state"]
    view = View().line(
        glyph(state), " ", cell(task["id"], "bold"), f" {state}  ", cell(_title(task), "bold")
    )
    if "progress" in data:
        view.line(cell(progress_words(data["progress"]), "dim"), indent=2)
    shown = [(name, task[name]) for name in _FIELDS if task.get(name)]
    shown.append(("created", short_time(task["created_at"], now)))
    view.rows(((cell(name, "dim"), cell(_words(value))) for name, value in shown), fixed=1,
              indent=2)  # fmt: skip
    _standing(view, data)
    for name, heading in _LISTS:
        if task.get(name):
            view.heading(heading)
            for text in task[name]:
                view.paragraph(text, indent=2)
    if task.get("notes"):
        view.heading("Notes").paragraph(task["notes"], indent=2)
    _runs(view, task.get("runs") or [], now)
    if "result" in data:
        _result(view, data["result"], task["id"])
    return view


def _standing(view: View, data: dict[str, Any]) -> None:
    """What it stands on, its parts, what stands on it."""
    cause = data.get("cause")
    if cause and data["state"] == "blocked":
        why = f" ({data['cause_reason']})" if data.get("cause_reason") else ""
        view.line(cell(f"blocked by {cause}{why}", "red"), indent=2)
        # One that is not there can't run again.
        hint = f"`loop requeue {cause}` frees it once that succeeds"
        hint = hint if "cause_title" in data else for_person(data["next"])
        view.line(cell(f"→ {hint}", "dim"), indent=2)
    elif cause and "result" not in data:
        view.line(cell(f"can't succeed without {cause}, which failed", "red"), indent=2)
        view.line(cell(f"→ `loop requeue {cause}` has it run again", "dim"), indent=2)
    for name, heading in (("dependencies", "Depends on"), ("subtasks", "Subtasks")):
        if data.get(name):
            view.heading(heading)
            view.rows(
                ((glyph(row["state"]), cell(row["id"], "bold"), cell(row.get("title", "")),
                  cell(row["state"], "dim")) for row in data[name]),
                indent=2,
            )  # fmt: skip
        if data.get(f"{name}_more"):
            view.line(cell(f"and {data[f'{name}_more']} more", "dim"), indent=2)
    if data.get("needed_by"):
        view.heading("Needed by").line(cell(listed(data["needed_by"], 20)), indent=2)
    if data.get("archived"):
        view.line().line(cell(f"put away into {data['archived']}", "dim"), indent=2)


def _title(task: dict[str, Any]) -> str:
    return str(task.get("title") or one_line(task["instructions"][0], 72))


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _runs(view: View, runs: list[dict[str, Any]], now: datetime) -> None:
    if not runs:
        return
    view.heading("Runs")
    view.rows(
        (
            glyph(run.get("status") or "running"),
            cell(run["number"]),
            cell(short_time(run["started"], now)),
            cell(_run_ending(run)),
        )
        for run in runs
    )


def _run_ending(run: dict[str, Any]) -> str:
    if run.get("status") is None:
        return "running"
    status, reason = run["status"], run.get("reason")
    words = [status if reason in (None, status) else f"{status}: {reason}"]
    if run.get("turns") is not None:
        words.append(counted(run["turns"], "turn"))
    return ", ".join([*words, dollars(run.get("cost"))])


def _result(view: View, result: dict[str, Any], task_id: str) -> None:
    heading = result["status"] if result["reason"] == result["status"] else (
        f"{result['status']}: {result['reason']}"
    )  # fmt: skip
    view.heading(f"Result: {heading}")
    view.paragraph(result["summary"], indent=2)
    if result.get("remarks"):
        view.heading("Question" if result["status"] == "needs_input" else "Remarks")
        view.paragraph(result["remarks"], indent=2)
    if result.get("files_changed"):
        view.heading("Files changed")
        view.rows(
            ((cell(_lines(f), "dim"), cell(f["path"])) for f in result["files_changed"]),
            fixed=1,
            indent=2,
        )
    _list(view, "Warnings", result.get("warnings"))
    denials = result.get("permission_denials") or []
    _list(view, "Refused by the rules",
          [told(d["tool"], d["input"], d["rule"], denied=d.get("denied", False))
           for d in denials])  # fmt: skip
    view.line()
    facts = [counted(result["runs"], "run"), span(result.get("duration_s")),
             dollars(result.get("cost_usd"))]  # fmt: skip
    view.line(cell(", ".join(facts), "dim"))
    if result.get("commit_hash"):
        view.line("commit ", cell(result["commit_hash"]))
    if result.get("log_path"):
        view.line("log ", cell(result["log_path"]), f" (`loop log {task_id}` shows it)")
    if result["status"] == "needs_input":
        view.line("to answer: ", cell(f'loop requeue {task_id} "your answer"', "bold"))
    elif result["status"] == "failure":
        view.line("to run it again: ", cell(f'loop requeue {task_id} "what to change"', "bold"))


def _lines(change: dict[str, Any]) -> str:
    added, removed = change.get("added"), change.get("removed")
    return "binary" if added is None or removed is None else f"+{added} -{removed}"


def _list(view: View, heading: str, texts: list[str] | None) -> None:
    if texts:
        view.heading(heading)
        for text in texts:
            view.line("- ", cell(text), indent=2)
