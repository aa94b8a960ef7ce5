"""The project's own checks decide with: before and after real runs."""

from __future__ import annotations

import os
import signal

import psutil
import pytest

from examples.scripted_api import report, tool
from tests.e2e.desk import Desk, until

CHECK = "sh check.sh"
#: Counts its runs beside the project; fails when broken.txt is there without mended.txt.
CHECK_SH = """echo run >> ../checks
if [ -e broken.txt ] && [ ! -e mended.txt ]; then echo 'broken.txt is there'; exit 1; fi
"""


def checks(desk: Desk) -> int:
    """How often the check has run."""
    path = desk.root.parent / "checks"
    return len(path.read_text().splitlines()) if path.exists() else 0


def check_with(desk: Desk, script: str = CHECK_SH, *, broken: bool = False) -> None:
    (desk.root / "check.sh").write_text(script)
    if broken:
        (desk.root / "broken.txt").touch()
    desk.git("add", "-A")
    desk.git("commit", "-qm", "with a check")
    desk.configure(verify={"test_command": CHECK}, readme_guard=False)


def waiting(desk: Desk, name: str) -> bool:
    return (desk.root.parent / name).exists()


async def test_red_after_green_is_tried_again_with_the_output_as_guidance(desk: Desk) -> None:
    check_with(desk)
    desk.script["broken.txt is there"] = [[desk.writes("better.txt")], [report()]]
    desk.script["Work on"] = [[desk.writes("broken.txt")], [report()]]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Work on"))
    # The second attempt mended nothing: the same failure twice in a row stops.
    assert (told["status"], told["reason"]) == ("failure", "verification_failed")
    assert "broken.txt is there" in told["summary"]
    result = desk.result("1")
    assert result["runs"] == 2
    assert result["verification"] == {
        "command": CHECK, "exit": 1, "tail": "broken.txt is there", "baseline": "passed",
    }  # fmt: skip
    prompts = [request.prompt for request in desk.api.received if not request.is_side_request]
    assert "broken.txt is there" in prompts[-1]
    assert "broken.txt is there" not in prompts[0]


async def test_a_second_attempt_that_mends_it_is_a_success(desk: Desk) -> None:
    check_with(desk)
    mended = report(summary="Mended.", files_changed=["broken.txt", "mended.txt", "own.txt"])
    desk.script["broken.txt is there"] = [[desk.writes("mended.txt")], [mended]]
    commit = "git add own.txt .env && git commit -m 'feat(1): Own'"
    desk.script["Work on"] = [
        [desk.writes("broken.txt"), desk.writes("own.txt"), desk.writes(".env")],
        [tool("Bash", command=commit)],
        [report()],
    ]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Work on"))
        seen = await architect.call("review_changes", task_id="1")
    assert (told["status"], told["summary"]) == ("success", "Mended.")
    # It is one task: what its first attempt did is told, too.
    assert told["files_changed"] == [".env", "broken.txt", "mended.txt", "own.txt"]
    secret = ".env (may hold a secret)"
    assert told["warnings"] == [
        f"the Builder's own commits hold what should stay out of git: {secret}"
    ]
    subjects = [line.split(" ", 1)[1].split(":")[0] for line in seen["commits"]]
    assert subjects == ["feat(1)", "Claude Code checkpoint", "Claude Code checkpoint"]
    assert desk.result("1")["verification"]["exit"] == 0
    assert set(desk.git("show", "--format=", "--name-only", "HEAD").split()) == {"mended.txt"}


async def test_what_failed_before_the_run_too_is_a_warning_that_says_so(desk: Desk) -> None:
    check_with(desk, broken=True)
    desk.script["Work on"] = [[desk.writes("new.txt")], [report()]]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Work on"))
        seen = await architect.call("review_changes", task_id="1", max_bytes=0)
    assert told["status"] == "success"
    assert told["warnings"] == [f"`{CHECK}` failed (exit 1), as it did before the run"]
    assert seen["verification"] == f"failed (exit 1), failed before: {CHECK}"


async def test_files_that_are_known_are_not_verified_again(desk: Desk) -> None:
    check_with(desk)
    desk.script["First"] = [[desk.writes("one.txt")], [report()]]
    desk.script["Second"] = [[desk.writes("two.txt")], [report()]]
    desk.script["Third"] = [[report("no_change_needed", summary="It was right.")]]
    async with desk.architect() as architect:
        await architect.done(await architect.queue("First"))
        assert checks(desk) == 2  # before it and after it
        await architect.done(await architect.queue("Second"))
        assert checks(desk) == 3
        told = await architect.done(await architect.queue("Third"))
        assert (told["status"], told["reason"]) == ("success", "no_change_needed")
        assert checks(desk) == 4
        (desk.root / "mine.txt").write_text("the person's\n")
        await architect.done(await architect.queue("Third, again"))
    assert checks(desk) == 6


async def test_what_the_checks_themselves_write_is_not_the_run_s_work(desk: Desk) -> None:
    check_with(desk, "touch report.xml; date +%N >> times.txt\n")
    desk.script["Work on"] = [[desk.writes("new.txt")], [report()]]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Work on"))
    assert told["files_changed"] == ["new.txt"]
    assert desk.git("show", "--format=", "--name-only", "HEAD").split() == ["new.txt"]
    assert "?? report.xml\n?? times.txt\n" in desk.git("status", "--short")


async def test_acceptance_commands_must_pass_whatever_was_before(desk: Desk) -> None:
    desk.configure(readme_guard=False)
    desk.script["Work on"] = [[desk.writes("new.txt")], [report()]]
    commands = ["test -e new.txt", "test -e other.txt"]
    async with desk.architect() as architect:
        failed = await architect.done(await architect.queue("Work on", acceptance=commands))
        passed = await architect.done(await architect.queue("Work on it", acceptance=commands[:1]))
    assert (failed["status"], failed["reason"]) == ("failure", "verification_failed")
    assert "`test -e other.txt` failed (exit 1)" in failed["summary"]
    assert desk.result("1")["verification"]["baseline"] == "none"
    assert passed["status"] == "success"
    assert desk.result("2")["verification"]["command"] == "test -e new.txt"


async def test_without_a_repository_checks_count_too_and_it_is_said_that_nothing_can_be_undone(
    desk: Desk,
) -> None:
    check_with(desk)
    (desk.root / ".git").rename(desk.root.parent / "gone")
    desk.script["Work on"] = [[desk.writes("broken.txt")], [report()]]
    desk.script["Look at"] = [[desk.writes("new.txt")], [report()]]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Work on", max_attempts=1))
        assert (told["status"], told["reason"]) == ("failure", "verification_failed")
        told = await architect.done(await architect.queue("Look at"))
        said = await architect.refusal("undo_task", task_id="2")
        seen = await architect.call("review_changes", task_id="2")
    assert told["status"] == "success"
    assert "not a git repository: changes are not listed and can't be undone" in told["warnings"]
    assert (desk.root / "new.txt").exists()
    assert "not a git repository" in said
    assert "can't be shown or undone" in seen["note"]


SLOW = """echo run >> ../checks
if [ -e new.txt ]; then
  setsid sleep 300 & echo $! > ../stray
  touch ../began
  if [ ! -e ../go ]; then sleep 300; fi
fi
"""


def stray(desk: Desk) -> psutil.Process | None:
    try:
        process = psutil.Process(int((desk.root.parent / "stray").read_text()))
        return process if process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return None


async def test_a_check_that_takes_too_long_is_ended_with_all_it_started(desk: Desk) -> None:
    check_with(desk, SLOW)
    desk.configure(verify={"timeout_s": 1})
    desk.script["Work on"] = [[desk.writes("new.txt")], [report()]]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Work on", max_attempts=1))
    assert (told["status"], told["reason"]) == ("failure", "verification_failed")
    assert f"`{CHECK}` failed (took too long)" in told["summary"]
    assert stray(desk) is None


async def test_a_cancel_ends_the_checks_and_keeps_the_work(desk: Desk) -> None:
    check_with(desk, SLOW)
    desk.script["Work on"] = [[desk.writes("new.txt")], [report()]]
    async with desk.architect() as architect:
        task_id = await architect.queue("Work on")
        await until(lambda: waiting(desk, "began"), "the checks after the run began")
        await architect.call("cancel_task", task_id=task_id)
        told = await architect.done(task_id)
        assert (told["status"], told["reason"]) == ("failure", "cancelled")
        assert told["files_changed"] == ["new.txt"]
        assert stray(desk) is None
        done = await architect.call("undo_task", task_id=task_id)
    assert done["taken_back"] == ["new.txt"]
    assert not (desk.root / "new.txt").exists()


async def test_a_cancel_during_the_checks_before_a_run_starts_no_builder(desk: Desk) -> None:
    check_with(desk, "touch ../began; sleep 300\n")
    desk.script["Work on"] = [[report()]]
    async with desk.architect() as architect:
        task_id = await architect.queue("Work on")
        await until(lambda: waiting(desk, "began"), "the checks before the run began")
        await architect.call("cancel_task", task_id=task_id)
        told = await architect.done(task_id)
    assert (told["status"], told["reason"]) == ("failure", "cancelled")
    assert desk.api.requests == []


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
async def test_a_worker_that_is_killed_during_the_checks_leaves_nothing_and_they_are_repeated(
    desk: Desk,
) -> None:
    check_with(desk, SLOW)
    desk.script["Work on"] = [[desk.writes("new.txt")], [report()]]
    async with desk.architect() as architect:
        await architect.queue("Work on")
        await until(lambda: waiting(desk, "began"), "the checks after the run began")
        first = stray(desk)
        assert first is not None
        os.kill(architect.pid, signal.SIGKILL)
    assert first.is_running()
    (desk.root.parent / "go").touch()
    async with desk.architect() as architect:
        told = await architect.done("1")
    assert told["status"] == "success"
    assert stray(desk) is None
    assert not first.is_running() or first.status() == psutil.STATUS_ZOMBIE
    assert desk.result("1")["runs"] == 1
    assert [p for p in desk.processes() if p.pid != architect.pid] == []
    assert desk.result("1")["files_changed"][0]["path"] == "new.txt"


async def test_a_report_of_no_work_or_of_work_to_come_is_no_success(desk: Desk) -> None:
    desk.configure(readme_guard=False)
    begun = "I've begun. I'll report back once the build finishes."
    desk.script["Say nothing"] = [[desk.writes("one.txt")], [report(summary=" ")]]
    desk.script["Begin"] = [[desk.writes("two.txt")], [report(summary=begun)]]
    desk.script["Read"] = [[report(summary="I'll start by reading the code.")]]
    async with desk.architect() as architect:
        for words in desk.script:
            told = await architect.done(await architect.queue(words))
            assert (told["status"], told["reason"]) == ("failure", "no_report"), words
