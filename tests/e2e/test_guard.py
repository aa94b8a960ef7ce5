"""The README guard in real runs: refused, given again, given up, out of turns."""

from __future__ import annotations

from examples.scripted_api import report, text
from tests.e2e.desk import Desk

NO_ENTRY = "README.md has no new entry under Recent Changes"


async def test_a_report_refused_for_want_of_a_readme_entry_is_given_again(desk: Desk) -> None:
    desk.script["Add a file"] = [
        [desk.writes("new.txt")],
        [report(summary="First try.")],
        *desk.notes_the_change(),
        [report(summary="Second try.")],
    ]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Add a file"))

    result = desk.result("1")
    assert (told["status"], told["summary"]) == ("success", "Second try.")
    assert any("Recent Changes" in answer for answer in desk.tool_answers("1"))
    # Claude Code lists the refusal as a denial; it is none.
    (line,) = [line for line in desk.stream("1") if line["type"] == "result"]
    assert [denial["tool_name"] for denial in line["permission_denials"]] == ["StructuredOutput"]
    assert result["permission_denials"] == []
    assert result["warnings"] == []


async def test_after_two_refusals_the_third_report_passes_with_a_warning(desk: Desk) -> None:
    desk.script["Add a file"] = [
        [desk.writes("new.txt")],
        *[[report(summary=f"Report {number}.")] for number in (1, 2, 3)],
    ]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Add a file"))
    assert (told["status"], told["summary"]) == ("success", "Report 3.")
    assert told["warnings"] == [NO_ENTRY]
    assert desk.result("1")["permission_denials"] == []


async def test_a_report_refused_in_the_last_turn_counts_with_a_warning(desk: Desk) -> None:
    desk.script["Add a file"] = [[desk.writes("new.txt")], [report(summary="Out of turns.")]]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Add a file", max_turns=2))
    line = desk.stream("1")[-2]
    assert line["subtype"] == "error_max_turns"
    assert (told["status"], told["summary"]) == ("success", "Out of turns.")
    assert any("the refused report counts" in warning for warning in told["warnings"])
    assert desk.result("1")["commit_hash"] == desk.git("rev-parse", "HEAD").strip()


async def test_with_the_guard_switched_off_a_report_passes_at_once(desk: Desk) -> None:
    desk.configure(readme_guard=False)
    desk.script["Add a file"] = [[desk.writes("new.txt")], [report(summary="At once.")]]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Add a file"))
    assert (told["status"], told["summary"]) == ("success", "At once.")
    assert "warnings" not in told


async def test_in_marker_mode_the_guard_holds_the_ending_up_until_the_entry_is_there(
    desk: Desk,
) -> None:
    desk.configure(builder={"report": "marker"})
    desk.script["Add a file"] = [
        [desk.writes("new.txt")],
        [text("Done, I think.")],
        *desk.notes_the_change(),
        [text("Done, with the README.")],
    ]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Add a file"))
    assert (told["status"], told["summary"]) == ("success", "Done, with the README.")
    assert set(told["files_changed"]) == {"new.txt", "README.md"}
