"""What a real run did is seen and taken back, through the tools and by hand."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path

from examples.scripted_api import hang, reply, report, text, tool
from tests.e2e.desk import Desk, until
from tests.installed_python import installed_python

TOKEN = "ghp_" + "a1B2" * 9


def by_hand(desk: Desk, *words: str) -> subprocess.CompletedProcess[str]:
    """`loop` as the person calls it."""
    return subprocess.run(
        [str(desk.python), "-m", "loop", *words],
        cwd=desk.root, env=desk.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=30, check=False,
    )  # fmt: skip


async def test_a_run_is_reviewed_and_undone_and_the_undo_undone(desk: Desk) -> None:
    (desk.root / "mine.txt").write_text("in progress\n")
    desk.script["Add files"] = [
        [desk.writes("new.txt", f"token = '{TOKEN}'\n"), desk.writes("plain.txt", "one\ntwo\n")],
        [desk.writes("mine.txt", "taken over\n"), tool("Bash", command="npm test")],
        *desk.notes_the_change(),
        [tool("Bash", command="git add mine.txt && git commit -m 'feat(1): Mine'")],
        [report(summary=f"Done with {TOKEN}.", files_changed=["plain.txt", "ghost.txt"])],
    ]
    before = desk.git("rev-parse", "HEAD")
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Add files"))
        seen = await architect.call("review_changes", task_id="1")
        done = await architect.call("undo_task", task_id="1")
        left = {p.name for p in desk.root.iterdir() if p.is_file()}
        again = await architect.call("undo_task", task_id="1")

    warnings = "\n".join(told["warnings"])
    assert "left out of snapshot and commit: new.txt (holds what looks like a key" in warnings
    assert "the Builder's own commits hold your unfinished work on: mine.txt" in warnings
    assert "the report names files that the run did not change: ghost.txt" in warnings
    assert seen["denials"] == ["Bash npm test (`loop allow 'Bash(npm test)'` allows it)"]
    assert "the report names files that the run did not change: ghost.txt" in seen["warnings"]
    assert [name.split()[0] for name in seen["files"]] == ["README.md", "mine.txt", "plain.txt"]
    assert [commit.split(" ", 1)[1][:11] for commit in seen["commits"]] == [
        "feat(1): Mi", "Claude Code",
    ]  # fmt: skip
    assert "+two" in seen["diff"]
    assert TOKEN not in json.dumps([told, seen])
    assert TOKEN in json.dumps(desk.result("1"))  # what is on disk is verbatim
    assert TOKEN in (desk.root / "new.txt").read_text()

    assert done["taken_back"] == ["README.md", "mine.txt", "plain.txt"]
    assert "plain.txt" not in left and "new.txt" in left
    assert again["taken_back"] == done["taken_back"]
    assert "its work is back" in again["note"]
    assert (desk.root / "mine.txt").read_text() == "taken over\n"
    assert desk.event_names()[-2:] == ["undone", "undone"]
    assert desk.git("rev-list", "--count", f"{before.strip()}..HEAD").strip() == "4"

    shown = by_hand(desk, "review", "1")
    assert shown.returncode == 0, shown.stderr
    assert "ghost.txt" in shown.stdout and "ghp_•••" in shown.stdout
    assert TOKEN not in shown.stdout + by_hand(desk, "review", "1", "--json").stdout
    taken = by_hand(desk, "undo", "1", "--json")
    assert json.loads(taken.stdout)["taken_back"] == done["taken_back"]
    assert "✗" not in by_hand(desk, "undo", "1").stdout
    assert [line["actor"] for line in desk.events("undone")] == ["architect"] * 2 + ["user"] * 2


async def test_while_a_run_is_on_nothing_is_undone(desk: Desk) -> None:
    gate = threading.Event()
    desk.configure(readme_guard=False)
    desk.script["First"] = [[desk.writes("first.txt")], [report()]]
    desk.script["Second"] = [hang(until=gate, then=reply(report("no_change_needed")))]
    async with desk.architect() as architect:
        await architect.done(await architect.queue("First"))
        second = await architect.queue("Second")
        await until(lambda: len(desk.events("run_started")) == 2, "the second run")
        said = await architect.refusal("undo_task", task_id="1")
        assert "task 2 is running" in said
        assert by_hand(desk, "undo", "1").returncode == 1
        assert (desk.root / "first.txt").exists()
        gate.set()
        await architect.done(second)
        assert (await architect.call("undo_task", task_id="1"))["taken_back"] == ["first.txt"]


async def test_what_a_cancelled_run_had_done_is_taken_back(desk: Desk) -> None:
    desk.script["Work on"] = [[desk.writes("half.txt")], hang(then=reply(text("Late.")))]
    async with desk.architect() as architect:
        task_id = await architect.queue("Work on")
        await until((desk.root / "half.txt").exists, "the Builder wrote")
        await architect.call("cancel_task", task_id=task_id)
        told = await architect.done(task_id)
        assert (told["reason"], told["files_changed"]) == ("cancelled", ["half.txt"])
        assert (await architect.call("undo_task", task_id=task_id))["taken_back"] == ["half.txt"]
    assert not (desk.root / "half.txt").exists()


async def test_the_guard_runs_by_an_interpreter_whose_path_has_spaces_and_quotes(
    tmp_path: Path,
) -> None:
    python = installed_python(tmp_path / "it's (my) python $HOME" / "venv")
    with Desk.at(tmp_path, python) as desk:
        desk.script["Add a file"] = [
            [desk.writes("new.txt")],
            [report(summary="First try.")],
            *desk.notes_the_change(),
            [report(summary="Second try.")],
        ]
        async with desk.architect() as architect:
            told = await architect.done(await architect.queue("Add a file"))
        assert (told["status"], told["summary"]) == ("success", "Second try.")
        assert "warnings" not in told


async def test_a_commit_of_the_person_that_a_run_rewrote_is_named(desk: Desk) -> None:
    desk.configure(readme_guard=False)
    (desk.root / "mine.txt").write_text("mine\n")
    desk.git("add", "mine.txt")
    desk.git("commit", "-qm", "the person's own")
    mine = desk.git("rev-parse", "HEAD").strip()[:12]
    amend = tool("Bash", command="git commit --amend -m rewritten", description="a step")
    desk.script["Work on"] = [[amend], [report()]]
    desk.script["Look at"] = [[report("no_change_needed")]]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Work on"))
        quiet = await architect.done(await architect.queue("Look at"))
    (warning,) = told["warnings"]
    assert f"HEAD no longer holds commit {mine} from before the run" in warning
    assert f"`git branch NAME {mine}` keeps it" in warning
    assert "warnings" not in quiet
