"""A task that goes well, from the Architect's call to the commit."""

from __future__ import annotations

from pathlib import Path

from examples.scripted_api import report, tool
from tests.e2e.desk import Desk


async def test_a_task_without_a_commit_of_the_builder_gets_a_checkpoint(desk: Desk) -> None:
    desk.script["Add a file"] = [
        [desk.writes("new.txt", "one\ntwo\n")],
        *desk.notes_the_change(),
        [report(summary="Added it.", remark="Short.", files_changed=["new.txt", "README.md"])],
    ]
    first = desk.git("rev-parse", "HEAD").strip()
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Add a file"))

    assert (told["status"], told["summary"], told["remarks"]) == ("success", "Added it.", "Short.")
    result = desk.result("1")
    head = desk.git("rev-parse", "HEAD").strip()
    assert result["commit_hash"] == told["commit_hash"] == head
    assert result["commits"] == [head]
    assert desk.git("rev-parse", "HEAD^").strip() == first
    message = desk.git("show", "--no-patch", "--format=%B").splitlines()
    assert message[0].startswith("Claude Code checkpoint: 20")
    assert any("Task 1: Add a file" in line for line in message[1:])
    changed = {
        entry["path"]: (entry["added"], entry["removed"]) for entry in result["files_changed"]
    }
    assert changed == {"new.txt": (2, 0), "README.md": (1, 0)}
    assert desk.git("status", "--porcelain") == ""
    assert result["warnings"] == []
    assert (result["runs"], result["log_path"]) == (1, ".ai/logs/0001.log")
    (started,) = desk.events("run_started")
    (completed,) = desk.events("run_completed")
    assert started["run"] == completed["run"] == 1
    assert completed["commit_hash"] == head
    assert list(desk.project.running.iterdir()) == []
    for private in (desk.project.log("1"), desk.project.err("1")):
        assert private.stat().st_mode & 0o077 == 0, private


async def test_a_commit_of_the_builders_own_is_the_result_and_is_not_doubled(desk: Desk) -> None:
    desk.script["Add a file"] = [
        [desk.writes("new.txt")],
        *desk.notes_the_change(),
        [tool("Bash", command="git add new.txt README.md")],
        [tool("Bash", command="git commit -m 'feat(1): Add a file'")],
        [report(files_changed=["new.txt", "README.md"])],
    ]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Add a file"))

    head = desk.git("rev-parse", "HEAD").strip()
    result = desk.result("1")
    assert told["status"] == "success", told
    assert desk.git("log", "--format=%s").splitlines() == ["feat(1): Add a file", "first"]
    assert result["commit_hash"] == head
    assert result["commits"] == [head]
    assert {entry["path"] for entry in result["files_changed"]} == {"new.txt", "README.md"}
    assert result["warnings"] == []


async def test_what_the_builder_left_uncommitted_is_committed_after_its_own_commit(
    desk: Desk,
) -> None:
    desk.script["Add files"] = [
        [desk.writes("one.txt"), desk.writes("two.txt")],
        *desk.notes_the_change(),
        [tool("Bash", command="git add one.txt && git commit -m 'feat(1): One'")],
        [report()],
    ]
    async with desk.architect() as architect:
        await architect.done(await architect.queue("Add files"))

    result = desk.result("1")
    newest, own, _ = desk.git("log", "--format=%H").split()
    assert result["commits"] == [own, newest]
    assert result["commit_hash"] == newest
    assert desk.git("show", "--format=", "--name-only", newest).split() == ["README.md", "two.txt"]


async def test_what_the_person_had_changed_before_stays_out_of_the_checkpoint(desk: Desk) -> None:
    (desk.root / "mine.txt").write_text("in progress\n")
    desk.script["Add a file"] = [
        [desk.writes("new.txt")],
        *desk.notes_the_change(),
        [report(files_changed=["new.txt"])],
    ]
    async with desk.architect() as architect:
        await architect.done(await architect.queue("Add a file"))

    assert desk.git("show", "--format=", "--name-only").split() == ["README.md", "new.txt"]
    assert desk.git("status", "--porcelain").split() == ["??", "mine.txt"]
    assert {entry["path"] for entry in desk.result("1")["files_changed"]} == {
        "README.md",
        "new.txt",
    }


async def test_a_folder_with_spaces_quotes_and_accents_in_its_name_works(
    tmp_path: Path, python: Path
) -> None:
    with Desk.at(tmp_path, python, name="Café [α] it's (new) — 数据") as desk:
        desk.script["Add a file"] = [
            [desk.writes("Ünï côde.txt")],
            *desk.notes_the_change(),
            [tool("Bash", command="git add -A && git commit -m 'feat(1): Add'")],
            [report()],
        ]
        async with desk.architect() as architect:
            told = await architect.done(await architect.queue("Add a file"))
        assert told["status"] == "success"
        assert "warnings" not in told
        assert "denials" not in told
        assert sorted(told["files_changed"]) == ["README.md", "Ünï côde.txt"]
        assert told["commit_hash"] == desk.git("rev-parse", "HEAD").strip()
