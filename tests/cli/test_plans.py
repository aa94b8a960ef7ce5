"""The graph from the command line: add --plan, edit --status, remove, next, reset."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from loop.store import timeline
from loop.store.dependencies import graph_of
from loop.store.parents import roll_up
from loop.store.paths import Project
from loop.store.scan import QueueScan, ids_in, locate
from tests.cli.conftest import NOW, Called, running, settled
from tests.tasks import claim, settle, submit

Loop = Callable[..., Called]
_PLAN: list[dict[str, Any]] = [
    {"ref": "design", "title": "Design it", "instructions": "x", "role": "architect"},
    {"ref": "build", "title": "Build it", "instructions": ["x"], "depends_on": ["design"]},
    {"ref": "one", "title": "Part one", "instructions": "x", "parent": "build"},
    {"ref": "test", "title": "Test it", "instructions": "x", "depends_on": ["build"]},
]


def _plan(project: Project, data: object) -> str:
    path = project.root / "plan.json"
    path.write_text(json.dumps(data))
    return "plan.json"


def test_a_plan_is_queued_from_a_file_shown_as_a_table_and_not_queued_twice(
    loop: Loop, project: Project
) -> None:
    file = _plan(project, _PLAN)
    dry = loop("add", "--plan", file, "--dry-run")
    assert (dry.code, ids_in(project.queue)) == (0, [])
    assert "·  test    Test it    after build\n" in dry.out
    called = loop("add", "--plan", file)
    assert called.out.splitlines() == [
        "4 tasks queued",
        "·  1    Design it  architect",
        "·  2    Build it   after design",
        "·  2.1  Part one   part of build",
        "·  3    Test it    after build",
        "3 to run; the longest chain is 3 of them, which can only run one after another: "
        "design → one → test",
    ]
    again = loop("add", "--plan", file, "--json").json
    assert again["ids"] == {"design": "1", "build": "2", "one": "2.1", "test": "3"}
    assert "queued already" in again["note"]


def test_a_plan_comes_from_stdin_as_an_object_too(loop_process: Loop, project: Project) -> None:
    called = loop_process("add", "--plan", "-", "--key", "k", stdin=json.dumps({"tasks": _PLAN}))
    assert called.code == 0, called.err
    assert sorted(ids_in(project.queue)) == ["1", "2", "2.1", "3"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ([{"ref": "a", "instructions": "x", "prio": 1}], "loop: tasks[0] (a).prio: unknown name"),
        ([{"ref": "a", "instructions": "x", "depends_on": ["b"]}], "(a).depends_on[0]: 'b' is"),
        ([{"ref": "a"}], "tasks[0] (a).instructions: is required"),
        ({"plan": []}, "loop: plan: unknown name; allowed: tasks"),
        ("text", "must be a list of tasks"),
    ],
)
def test_a_wrong_plan_is_one_line_that_names_the_task(
    data: object, says: str, loop: Loop, project: Project
) -> None:
    called = loop("add", "--plan", _plan(project, data))
    assert (called.code, called.out, called.err.count("\n")) == (1, "", 1)
    assert says in called.err
    assert ids_in(project.queue) == []


@pytest.mark.parametrize(
    "words", [(), ("T", "--dry-run"), ("T", "--plan", "p"), ("--plan", "p", "--role", "r")]
)
def test_words_that_do_not_go_together_are_a_wrong_command_line(
    words: tuple[str, ...], loop: Loop
) -> None:
    called = loop("add", *words)
    assert (called.code, called.err.count("\n")) == (2, 1)


def test_a_status_is_set_by_our_words_and_by_those_of_others(loop: Loop, project: Project) -> None:
    loop("add", "A")
    loop("add", "B", "--depends", "1")
    assert loop("edit", "1", "--status", "done").out == (
        "✓ 1 changed (status), it is success now: A\n"
    )
    again = loop("edit", "1", "--status", "success").out
    assert again == "1 is success already; nothing was changed\n"
    assert loop("next", "--json").json["next"]["id"] == "2"
    data = loop("edit", "1", "--status", "pending", "--desc", "Do it better", "--json").json
    assert (data["state"], data["changed"]) == ("queued", ["instructions", "status"])
    assert data["task"]["instructions"] == ["Do it better"]
    assert loop("edit", "1", "--status", "failed", "--title", "C").code == 0
    assert loop("status", "2", "--json").json["state"] == "blocked"


@pytest.mark.parametrize(
    ("word", "why"),
    [("in_progress", "when a worker takes it"), ("blocked", "requeue that one"), ("x", "pending")],
)
def test_a_status_that_nobody_can_set_is_refused_with_the_reason(
    word: str, why: str, loop: Loop
) -> None:
    loop("add", "A")
    called = loop("edit", "1", "--status", word)
    assert (called.code, called.err.count("\n")) == (2, 1)
    assert why in called.err


def test_dependencies_can_be_given_often_and_taken_away(loop: Loop) -> None:
    for title in "ABC":
        loop("add", title)
    data = loop("edit", "3", "--depends", "1,2", "--depends", "1", "--json").json
    assert data["task"]["depends_on"] == ["1", "2"]
    assert "depends_on" not in loop("edit", "3", "--depends", "", "--json").json["task"]


def test_next_says_why_no_task_is_ready(loop: Loop, project: Project) -> None:
    assert loop("next").out == "no task is ready: the queue is empty\n"
    failed = settled(project, "Bad", "failure", "turn_limit").id
    assert loop("next").out == "no task is ready: nothing waits, all 1 have ended\n"
    loop("add", "Later", "--depends", failed)
    asks = settled(project, "Asks", "needs_input", "needs_input").id
    loop("add", "Painted", "--depends", asks)
    task = running(project, "Goes on")
    called = loop("next")
    assert called.code == 1
    for part in (f"{task.id} runs", f"2 is blocked by {failed}", f"{asks} asks"):
        assert part in called.out
    assert "requeue_task" not in called.out


def test_a_removal_by_force_names_whom_it_blocks(loop: Loop) -> None:
    loop("add", "A")
    loop("add", "B", "--depends", "1")
    called = loop("remove", "1")
    assert (called.code, called.out) == (1, "")
    assert "2 stands on task 1 and would be blocked" in called.err
    assert loop("remove", "1", "--force").out == (
        "✗ 1 removed; `loop requeue 1` brings it back\n  2 is blocked now\n"
    )


def test_a_reset_asks_and_without_a_terminal_refuses(loop: Loop, project: Project) -> None:
    assert loop("reset").out == "nothing is to be cleared\n"
    settled(project, "Good", "success", "success")
    loop("add", "Waits")
    refused = loop("reset")
    assert (refused.code, refused.out) == (1, "")
    assert "1 ended task would be put away; --force does it" in refused.err
    done = loop("reset", "--force")
    assert done.out.startswith("✓ 1 ended task was put away into .ai/archive/")
    assert done.out.endswith("; 1 still waiting\n")
    assert loop("status", "--json").json["counts"]["settled"] == 0
    assert "put away into .ai/archive/" in loop("status", "1").out
    assert "queue reset: 1 put away, 0 cancelled" in loop("timeline").out
    assert loop("reset", "--hard", "--force", "--json").json["cancelled"] == ["2"]
    assert [e["event"] for e in timeline.last(project.timeline, 1)] == ["queue_reset"]


def test_the_log_of_a_task_that_was_put_away_is_still_shown(loop: Loop, project: Project) -> None:
    task = settled(project, "Good", "success", "success")
    project.log(task.id).write_text('{"type":"loop"}\n')
    loop("reset", "--force")
    assert loop("log", task.id, "--raw").code == 0


def test_the_graph_is_a_tree_with_what_each_task_waits_for(loop: Loop, project: Project) -> None:
    loop("add", "--plan", _plan(project, _PLAN))
    failed = settled(project, "Bad", "failure", "turn_limit").id
    loop("add", "Late", "--depends", failed)
    loop("add", "Later", "--depends", "5")
    assert loop("status").out.partition("Waiting (6, 2 blocked)\n")[2].splitlines()[:6] == [
        "·  1      Design it  next",
        "·  2      Build it   waits for 1, 0 of 1 done",
        "·  └ 2.1  Part one   waits for 1",
        "·  3      Test it    waits for 2",
        f"✗  5      Late       blocked by {failed} (failed)",
        f"✗  6      Later      blocked by {failed} (failed)",
    ]
    loop("edit", "1", "--status", "done")
    loop("edit", "2.1", "--status", "done")
    assert "✓ └ 2.1 Part one success, by hand" in " ".join(loop("status").out.split())


def test_a_title_can_not_break_out_of_the_diagram(loop: Loop, project: Project) -> None:
    loop("add", 'He said "no"] --> x; %%{init}%% `code` #35; <b>\nend', "x")
    for n in range(3):
        loop("add", f"T{n}", "--depends", "1")
    text = loop("status", "--graph").out
    node = next(line for line in text.splitlines() if line.startswith("  t1["))
    label = node.removeprefix('  t1["').removesuffix('"]:::queued')
    assert not set(label) & set('"`<>%[]{}')
    assert "  t1 --> t4" in text


def test_a_large_graph_says_where_its_diagram_is_cut() -> None:
    from loop.cli.mermaid import MOST_ARROWS, MOST_NODES, mermaid

    rows = [
        {"id": str(n), "state": "queued", "title": "T", "depends_on": [str(m) for m in range(1, n)]}
        for n in range(1, MOST_NODES + 51)
    ]
    lines = mermaid(rows).splitlines()
    assert sum("-->" in line for line in lines) == MOST_ARROWS
    assert any("not shown: 50 tasks, 19450 arrows" in line for line in lines)


def test_a_queue_of_many_families_is_cut_by_rows(loop: Loop, project: Project) -> None:
    for n in range(1, 31):
        data = {"id": str(n), "instructions": [f"T{n}"], "created_at": NOW.isoformat(), "run": 1}
        (project.queue / f"{n:04d}.json").write_text(json.dumps(data))
    assert "and 10 more; --all shows them" in loop("status").out


def test_what_waits_though_its_parent_has_ended_or_does_not_count_it_is_in_the_tree(
    loop: Loop, project: Project
) -> None:
    submit(project, NOW, "parent")
    submit(project, NOW, "one", parent="1")
    submit(project, NOW, "two", parent="1", depends_on=["1.1"])
    settle(project, claim(project, locate(project, "1.1", NOW).task, NOW), NOW, "failure")
    graph = graph_of(project, QueueScan(project, lambda: NOW).look().tasks, NOW)
    roll_up(project, graph.ended_parents(), NOW)
    for name in ("0009.json", "0009.1.json"):
        (project.queue / name).write_text('{"instructions": "dropped"}')
    out = loop("status").out
    assert "more; --all" not in out
    assert [line.split()[2] for line in out.splitlines() if "└" in line] == ["9.1", "1.1", "1.2"]
    diagram = loop("status", "--graph").out
    assert all(name in diagram for name in ("t9_1[", "t1_1[", "t1_2["))


def test_dropped_tasks_on_a_ring_are_not_said_to_have_failed(loop: Loop, project: Project) -> None:
    for name, need in (("0001.json", 2), ("0002.json", 1)):
        data = {"instructions": "x", "depends_on": [need]}
        (project.queue / name).write_text(json.dumps(data))
    assert loop("status").out.count("blocked by 1 (waits for itself)") == 2
    out = loop("status", "2").out
    assert "blocked by 1 (it waits for itself)" in out
    assert "`loop edit` 2 without it" in out


def test_next_does_not_send_anybody_to_a_task_that_is_not_there(
    loop: Loop, project: Project
) -> None:
    (project.queue / "0001.json").write_text('{"instructions": "x", "depends_on": [99]}')
    out = loop("next").out
    assert "1 is blocked by 99, which failed or is not there (`loop edit` 1 changes" in out


def test_who_requeues_a_blocked_task_hears_which_one_frees_it(loop: Loop, project: Project) -> None:
    failed = settled(project, "Bad", "failure", "turn_limit").id
    loop("add", "Late", "--depends", failed)
    loop("add", "Part", "--parent", "2")
    for task_id in ("2", "2.1"):
        called = loop("requeue", task_id)
        assert called.code == 1
        assert f"task {task_id} waits, blocked by {failed}: `loop requeue` {failed}" in called.err


def test_what_runs_is_shown_however_many_parts_stand_before_it(
    loop: Loop, project: Project
) -> None:
    submit(project, NOW, "whole")
    for number in range(1, 31):
        submit(project, NOW, f"part {number}", parent="1")
    for number in range(1, 26):
        settle(project, claim(project, locate(project, f"1.{number}", NOW).task, NOW), NOW)
    claim(project, locate(project, "1.26", NOW).task, NOW)
    out = loop("status").out
    assert "Running\n▶  1.26  part 26" in out
    assert "1.27" in out


def test_of_many_subtasks_those_that_are_not_done_are_named_first(
    loop: Loop, project: Project
) -> None:
    submit(project, NOW, "whole")
    for number in range(1, 26):
        submit(project, NOW, f"part {number}", parent="1")
    for number in range(1, 24):
        settle(project, claim(project, locate(project, f"1.{number}", NOW).task, NOW), NOW)
    out = loop("status", "1").out
    assert out.index("1.24") < out.index("1.25") < out.index("1.1 ")
    assert "  and 5 more\n" in out


def test_of_a_parent_that_can_not_succeed_the_failed_part_is_named(
    loop: Loop, project: Project
) -> None:
    submit(project, NOW, "whole")
    submit(project, NOW, "one", parent="1")
    submit(project, NOW, "two", parent="1")
    settle(project, claim(project, locate(project, "1.1", NOW).task, NOW), NOW, "failure")
    out = loop("status", "1").out
    assert "can't succeed without 1.1, which failed" in out
    assert "`loop requeue 1.1`" in out
