"""A Builder that asks: by its report, and by the marker."""

from __future__ import annotations

from examples.scripted_api import report, text
from tests.e2e.desk import Desk

QUESTION = 'Which one?  Two spaces, "quotes" & <tags>\nand a second line: é 🎉'
OPTIONS = ["A: keep the old `flow`", "B — replace it (can't be undone)"]
ASKED = "NEEDS_CLARIFICATION: Keep the old flow?\n- yes\n- no, replace it"


async def test_a_question_in_the_report_reaches_the_architect_word_for_word(desk: Desk) -> None:
    asks = report("needs_input", question=QUESTION, options=OPTIONS, summary="Can't choose.")
    desk.script["Change the flow"] = [[desk.writes("half.txt")], [asks]]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Change the flow"))

    words = "\n".join([QUESTION, *(f"- {option}" for option in OPTIONS)])
    result = desk.result("1")
    assert (told["status"], told["reason"]) == ("needs_input", "needs_input")
    assert told["remarks"] == result["remarks"] == words
    assert told["summary"] == "Can't choose."
    # Half-done work is kept, and asking is not refused for want of a README entry.
    assert [entry["path"] for entry in result["files_changed"]] == ["half.txt"]
    assert result["permission_denials"] == []
    assert desk.events("run_completed")[0]["status"] == "needs_input"


async def test_the_marker_asks_in_schema_mode_too_beside_a_report_that_says_done(
    desk: Desk,
) -> None:
    desk.script["Change the flow"] = [[text(f"I looked.\n{ASKED}")], [report()]]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Change the flow"))
    assert told["status"] == "needs_input"
    assert told["remarks"] == "Keep the old flow?\n- yes\n- no, replace it"


async def test_the_marker_asks_in_marker_mode(desk: Desk) -> None:
    desk.configure(builder={"report": "marker"})
    desk.script["Change the flow"] = [[text(f"I looked.\n\n{ASKED}")]]
    desk.script["Only quote it"] = [[text(f"Like this:\n```\n{ASKED}\n```\nand `{ASKED}`")]]
    async with desk.architect() as architect:
        asked = await architect.done(await architect.queue("Change the flow"))
        quoted = await architect.done(await architect.queue("Only quote it"))
    assert asked["status"] == "needs_input"
    assert asked["remarks"] == "Keep the old flow?\n- yes\n- no, replace it"
    assert (quoted["status"], quoted.get("remarks")) == ("success", None)
    # The run was not asked for a report.
    assert all(
        "StructuredOutput" not in [tool["name"] for tool in request["tools"]]
        for request in desk.api.requests
        if request.get("tools")
    )


async def test_a_question_survives_the_readme_guard_sending_the_builder_on(desk: Desk) -> None:
    desk.configure(builder={"report": "marker"})
    desk.script["Change the flow"] = [
        [text(ASKED), desk.writes("half.txt")],
        [text("That is as far as I get.")],
        # The Stop hook refuses this ending: the README has no entry.
        *desk.notes_the_change(),
        [text("The README is up to date now.")],
    ]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Change the flow"))
    assert "Recent Changes" in str(desk.api.requests[-1]["messages"])
    assert told["status"] == "needs_input"
    assert told["remarks"] == "Keep the old flow?\n- yes\n- no, replace it"
    assert set(told["files_changed"]) == {"half.txt", "README.md"}
