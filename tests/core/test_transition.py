from __future__ import annotations

from datetime import UTC, datetime
from itertools import product

import pytest

from loop.core import transition as rules
from loop.core.event import Event
from loop.core.result import Result, decode_result, report_from, result_dict, task_in, with_task
from loop.core.task import Task, TaskFields, encode, task_dict
from loop.errors import BadInput, WrongState

NOW = datetime(2026, 7, 23, tzinfo=UTC)
STATES = ("queued", "running", "success", "failure", "needs_input")
ALLOWED = {
    ("edit", "queued"), ("claim", "queued"), ("cancel", "queued"),
    ("give_back", "running"), ("settle", "running"),
    ("requeue", "success"), ("requeue", "failure"), ("requeue", "needs_input"),
    ("end", "queued"), ("end", "success"), ("end", "failure"), ("end", "needs_input"),
}  # fmt: skip


def a_task(**fields: object) -> Task:
    return Task(id="42", instructions=["Do it"], created_at=NOW, **fields)  # type: ignore[arg-type]


def claimed(task: Task) -> Task:
    return rules.claim(task, rules.new_run(task, f"uuid-{task.run}", NOW), NOW)[0]


def requeued(task: Task, guidance: str | None = None, *, from_user: bool = False) -> Task:
    return rules.requeue(
        task, TaskFields(), guidance, "architect", NOW, fresh=False, from_user=from_user
    )[0]


@pytest.mark.parametrize(("verb", "state"), list(product(rules.FROM, STATES)))
def test_a_verb_is_allowed_from_its_states_and_refused_from_all_others(
    verb: str, state: str
) -> None:
    if (verb, state) in ALLOWED:
        rules.require(verb, "42", state)
    else:
        stands = rf"(is {state}|has ended \({state}\))"
        with pytest.raises(WrongState, match=f"^task 42 {stands}: "):
            rules.require(verb, "42", state)


def test_a_wrong_edit_or_requeue_is_told_the_verb_that_would_do() -> None:
    with pytest.raises(WrongState, match="requeue_task"):
        rules.require("edit", "42", "success")
    with pytest.raises(WrongState, match="edit_task"):
        rules.require("requeue", "42", "queued")


def test_run_numbers_count_up_and_attempts_only_with_a_retry() -> None:
    task = claimed(a_task())
    assert [(r.number, r.attempt, r.uuid) for r in task.runs] == [(1, 1, "uuid-1")]
    paused = rules.give_back(task, retry=False, note=None)
    assert (paused.run, paused.attempt) == (2, 1)
    again = rules.give_back(claimed(paused), retry=True, note="It was silent.")
    assert (again.run, again.attempt, again.note_to_run) == (3, 2, "It was silent.")
    third = claimed(again)
    assert [(r.number, r.attempt) for r in third.runs] == [(1, 1), (2, 1), (3, 2)]


def test_a_requeue_starts_counting_attempts_anew_and_keeps_the_history() -> None:
    task = rules.give_back(claimed(a_task()), retry=True, note="n")
    settled = claimed(task)
    again = requeued(settled, "Take A.")
    assert (again.id, again.run, again.attempt) == ("42", 3, 1)
    assert (again.note_to_run, again.guidance, again.requeues) == (None, ["Take A."], 1)
    assert again.runs == settled.runs
    twice = requeued(claimed(again))
    assert (twice.guidance, twice.requeues) == (["Take A."], 2)
    assert requeued(claimed(twice), from_user=True).requeues == 0


def test_transitions_leave_the_copy_they_were_given_as_it_is() -> None:
    task = claimed(a_task())
    before = encode(task_dict(task))
    rules.end_run(task, status="success")
    rules.give_back(task, retry=True, note="n")
    requeued(task, "g")
    assert encode(task_dict(task)) == before


def test_an_edit_changes_what_was_given_and_nothing_else() -> None:
    task = a_task(extra={"x_team": "a"}, notes="n", run=4)
    changed, event = rules.edit(task, TaskFields(title="T", priority="low"), "user", NOW)
    assert (changed.title, changed.priority, changed.notes, changed.run) == ("T", "low", "n", 4)
    assert changed.extra == {"x_team": "a"}
    assert getattr(event, "fields", None) == ["priority", "title"]
    with pytest.raises(BadInput, match="at least one field"):
        rules.edit(task, TaskFields(), "user", NOW)


def test_a_cancelled_task_has_a_result_that_holds_it() -> None:
    result, event = rules.cancel(a_task(), "user", NOW)
    assert (result.status, result.reason, result.runs) == ("failure", "cancelled", 0)
    assert "user" in result.summary
    assert task_in(result) == a_task()
    assert event.actor == "user"


def test_events_carry_the_run_that_they_are_about() -> None:
    task = rules.end_run(claimed(a_task(run=3)), cost=0.5)
    result = Result(task_id="42", status="success", summary="s", completed_at=NOW, task={})
    events: list[Event] = [
        rules.claim(a_task(run=3), rules.new_run(a_task(run=3), "u", NOW), NOW)[1],
        rules.completed(task, result, NOW),
        rules.retried(task, "silent", None, NOW),
        rules.paused(task, "login", "r", None, NOW, tries=0),
    ]
    assert [event.run for event in events] == [3, 3, 3, 3]
    assert [getattr(event, "cost_usd", None) for event in events] == [None, 0.5, 0.5, 0.5]


def test_a_result_is_written_and_read_back_with_its_task() -> None:
    result = with_task(
        Result(task_id="42", status="success", summary="s", completed_at=NOW, task={}), a_task()
    )
    plain = result_dict(result)
    assert plain["cost_usd"] is None
    assert plain["commit_hash"] is None
    assert "remarks" not in plain
    assert decode_result(encode(plain)) == result
    assert task_in(decode_result(encode(plain))) == a_task()


@pytest.mark.parametrize(
    "data", [{}, {"task_id": "42", "status": "done"}, {"task_id": "42", "status": "success"}]
)
def test_what_is_no_result_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        decode_result(encode(data))


def test_a_report_without_an_outcome_is_none_and_fields_that_do_not_fit_are_dropped() -> None:
    assert report_from(None) is None
    assert report_from({"summary": "x"}) is None
    assert report_from({"outcome": ["done"]}) is None
    report = report_from({"outcome": "done", "summary": 5, "options": "A", "remark": "r", "new": 1})
    assert report is not None
    assert (report.summary, report.options, report.remark) == ("", [], "r")
