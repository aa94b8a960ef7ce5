"""Plans that run by themselves: a team, a task that is split, an attempt after an interruption."""

from __future__ import annotations

import asyncio

from examples.scripted_api import Request, hang, report, text, tool
from tests.e2e.desk import Desk, until


def spoken(desk: Desk) -> list[Request]:
    """The first request of each run, in order."""
    return [r for r in desk.api.received if not r.is_side_request and not r.answered]


def system_of(request: Request) -> str:
    parts = request.body["system"]
    return parts if isinstance(parts, str) else "\n".join(part["text"] for part in parts)


def commits(desk: Desk) -> list[str]:
    return [s for s in desk.git("log", "--reverse", "--format=%s").splitlines() if "check" not in s]


async def test_a_team_works_through_its_plan_by_itself(desk: Desk) -> None:
    desk.configure(readme_guard=False)
    own = desk.project.ai / "roles" / "developer.md"
    own.write_text("Our way: tabs,\nnot spaces.")
    desk.script["Task 3 in"] = [
        [desk.writes("cache.py", "no\n")],
        [report(summary="Designed it.", notes="Use a ring\nof 64 entries.")],
    ]
    desk.script["Task 2 in"] = [
        [desk.writes("cache.py", "SIZE = 64\n")],
        [tool("Bash", command="git add cache.py")],
        [tool("Bash", command="git commit -m 'feat(2): Build it'")],
        [report(summary="Built it.", notes="Call put().", files_changed=["cache.py"])],
    ]
    desk.script["Task 1 in"] = [
        [desk.writes("cache.py", "SIZE = 0\n")],
        [desk.writes("tests/test_cache.py", "def test_it(): ...\n")],
        [report(summary="Tested it.", files_changed=["tests/test_cache.py"])],
    ]
    desk.script["Task 4 in"] = [[report("no_change_needed", summary="It is written.")]]
    plan = [
        {"ref": "test", "instructions": "Test it", "role": "tester", "depends_on": ["build"]},
        {"ref": "build", "instructions": "Build it", "depends_on": ["design"]},
        {"ref": "design", "instructions": "Design it", "role": "Architect"},
        {"ref": "docs", "instructions": "Write it up", "role": "wizard", "depends_on": ["test"]},
    ]
    async with desk.architect() as architect:
        assert (await architect.call("queue_plan", tasks=plan))["ids"]["design"] == "3"
        await until(lambda: desk.event_names().count("run_completed") == 4, "its end", 30)
    runs = spoken(desk)
    assert [r.prompt.split()[1] for r in runs] == ["3", "2", "1", "4"]
    results = {task_id: desk.result(task_id) for task_id in "3214"}
    assert {r["status"] for r in results.values()} == {"success"}

    # Each has its role and only what that may do; the project's own text wins.
    roles = [system_of(r) for r in runs]
    assert "Your role in this task: architect." in roles[0]
    assert "Our way: tabs, not spaces." in roles[1] and "Your role" not in roles[1]
    assert "Your role in this task: tester." in roles[2]
    assert "Our way: tabs, not spaces." in roles[3]
    changed = [[f["path"] for f in results[i]["files_changed"]] for i in "321"]
    assert changed == [[], ["cache.py"], ["tests/test_cache.py"]]
    assert [len(results[i]["permission_denials"]) for i in "321"] == [1, 0, 1]
    assert (desk.root / "cache.py").read_text() == "SIZE = 64\n"
    (warning,) = results["4"]["warnings"]
    assert warning.startswith("unknown role 'wizard', carried out as developer")

    # What one leaves reaches those who stand on it, a design also those further on.
    assert "- 3 (Architect, success) Design it\nUse a ring\nof 64 entries." in runs[1].prompt
    assert "- 2 (success) Build it\nCall put().\n- 3 (Arch" in runs[2].prompt
    assert "Commits of this task are titled: design(3): Design it\n" in runs[0].prompt
    assert "titled: feat(2): Build it\n" in runs[1].prompt
    assert "titled: test(1): Test it\n" in runs[2].prompt
    assert "feat(2): Build it" in commits(desk)
    assert "task: 3 Design it\nstatus: success" in desk.project.progress.read_text()


async def test_a_task_that_its_run_splits_ends_with_its_parts(desk: Desk) -> None:
    desk.configure(readme_guard=False)
    parts = [
        {"title": "First part", "instructions": ["Write a.txt"]},
        {"title": "", "instructions": []},
        {"title": "Last part", "instructions": []},
    ]
    deeper = [{"title": "Deeper", "instructions": ["Write c.txt"]}]
    desk.script["Task 1 in"] = [
        [desk.writes("plan.txt")],
        [report(summary="I'll create two parts.", notes="Mind the gap.", subtasks=parts)],
    ]
    # Nothing is changed and something denied: its work are its subtasks.
    desk.script["Task 1.1 in"] = [
        [tool("Bash", command="npm run count", description="how many")],
        [report(summary="It is large.", subtasks=deeper)],
    ]
    desk.script["Task 1.1.1 in"] = [[desk.writes("c.txt")], [report()]]
    desk.script["Task 1.2 in"] = [[desk.writes("b.txt")], [report()]]
    async with desk.architect() as architect:
        await architect.queue("The whole", acceptance=["test -e b.txt"], max_turns=9)
        ended = desk.project.completed
        await until((ended / "0001.json").exists, "the whole has ended", 30)
    results = {task_id: desk.result(task_id) for task_id in ("1", "1.1", "1.2", "1.1.1")}
    assert {r["status"] for r in results.values()} == {"success"}
    runs = spoken(desk)
    assert [r.prompt.split()[1] for r in runs] == ["1", "1.1", "1.1.1", "1.2"]
    assert "It is a part of this task:\n- 1 (running) The whole\nMind the gap." in runs[1].prompt
    assert "The other parts of that task:\n- 1.2 (queued) Last part" in runs[1].prompt
    assert "It is a part of this task:\n- 1.1 (running) First part" in runs[2].prompt
    # The last part, after all others, has to meet what the whole must pass.
    last = results["1.2"]
    assert (last["task"]["depends_on"], last["task"]["max_turns"]) == (["1.1"], 9)
    assert last["verification"]["command"] == "test -e b.txt"
    # What the splitting run did itself is kept, and told.
    assert {"plan.txt", "b.txt", "c.txt"} <= set(desk.git("ls-files").split())
    log = desk.project.progress.read_text()
    assert "task: 1 The whole\nstatus: split into 1.1, 1.2\nchanges: [plan.txt]" in log


async def test_an_attempt_after_an_interruption_knows_what_the_last_one_left(desk: Desk) -> None:
    desk.configure(readme_guard=False, checkpoint={"mode": "off"})
    desk.script["ended as interrupted"] = [[report(summary="Finished it.")]]
    desk.script["Work on"] = [
        [text("I begin with one half."), desk.writes("half.txt")],
        [tool("Bash", command="git status", description="a look")],
        hang(60),
    ]
    async with desk.architect() as architect:
        task_id = await architect.queue("Work on")
        await asyncio.to_thread(desk.api.wait_for_requests, 3)
        for process in desk.processes():
            if process.name() == "claude":
                process.kill()
        told = await architect.done(task_id)
    assert (told["status"], told["summary"]) == ("success", "Finished it.")
    prompt = spoken(desk)[-1].prompt
    assert "This goes on from your earlier run of the same task in this session." in prompt
    for words in (
        "About the last attempt: it ended as interrupted. The run was interrupted",
        "The last it said:\nI begin with one half.",
        "The last it did: Bash git status",
        "Earlier runs of this task changed: half.txt.\nNot committed of that: half.txt. It may be",
    ):
        assert words in prompt
    log = desk.project.progress.read_text()
    assert "status: failure (interrupted), tried again\nchanges: [half.txt]" in log
