"""Work that is only announced is no success; an honest summary is one."""

from __future__ import annotations

import pytest

from loop.core.outcome import Ending, classify
from tests.stream_lines import reported, transcript

PROMISES = [
    "I've started the build. I'll report back once it finishes.",
    "I will continue with the remaining files later.",
    "Half of it is there.\nI'm going to finish the rest tomorrow.",
    "I’ll check back when the tests are done.",
    "The tests are still running. I'll follow up as soon as they pass.",
    "The full test suite is still running in the background.",
    "Both subagents are running in the background.",
    "Now I'll wait for the build to complete.",
    "Once the agents are done, I will continue until everything is migrated.",
    "I've kicked off the build; I'll let you know when it's done.",
    "I have started the migration and will report when it is done.",
    "The build is running in the background; I will check on it in a few minutes.",
    "Half of it is written. I'll do the rest in the next session.",
    "I'll pick this up tomorrow.",
    "We'll finish the rest tomorrow.",
    "Will continue later.",
    "To be continued.",
    "I'm waiting for the tests to finish.",
    "Waiting for the build to complete.",
    "The agents are still working.",
]
HONEST = [
    "Added the section. I will leave the tests for a later task.",
    "The job runs in the background thread now.",
    "The worker is running in the background and processes the queue.",
    "Let me know if you want me to continue with the next step later.",
    "I'll happily continue once you decide between A and B.",
    "It checks whether the tests are still running before it reports back.",
    "Users will get back to the list when they finish.",
    "The script will continue when the file is there, and resume later.",
    "I will continue in a later task if that is wanted.",
    "Added retry: the client now waits, then continues once the server is up.",
    "Added the text “We will let you know when your order ships.” to the page.",
    "Fixed it. Next I would refactor the parser.",
    "Done. The dev server is not running any more.",
    "I went through all files first; then I finished the rest once the tests passed.",
    "I'll note that the flow was complete before; nothing was left to finish later.",
    "Waiting for the build to complete is now bounded.",
    "Added the banner: to be continued in the next chapter.",
    "It will continue later runs from the last file.",
    "The form is sent in the background and will report when it is done.",
    "The old buttons are still working.",
]
BEGINNINGS = [
    "I'll start by reading the code.",
    "I will begin with the flow.",
    "Let me look at the files first.",
    "Okay, let's check what is there.",
    "First, I'll explore the repository.",
    "I'm going to add the file now.",
    "Starting by examining the layout.",
    "I’ll now implement the section.",
    "Next, I'll implement the tests.",
    "Sure! I'll start by exploring the project structure.",
    "Understood. I'll begin by examining the layout.",
    "To start, I'll read the code.",
    "I'm starting by reading the files.",
    "I need to look at the files first.",
    "Let me first understand the codebase.",
    "Let me continue with the next file.",
]


def judged(summary: str, changed: tuple[str, ...] | None, outcome: str = "done") -> tuple[str, str]:
    line = reported(outcome=outcome, summary=summary)
    found = classify(Ending(transcript=transcript(line), exit=0, changed=changed))
    return found.status, found.reason


@pytest.mark.parametrize("changed", [(), ("a.py",)])
@pytest.mark.parametrize("summary", PROMISES)
def test_work_that_goes_on_later_is_no_success(summary: str, changed: tuple[str, ...]) -> None:
    assert judged(summary, changed) == ("failure", "no_report")


@pytest.mark.parametrize("changed", [(), ("a.py",)])
@pytest.mark.parametrize("summary", HONEST)
def test_an_honest_summary_is_a_success(summary: str, changed: tuple[str, ...]) -> None:
    assert judged(summary, changed) == ("success", "success")


@pytest.mark.parametrize("summary", BEGINNINGS)
def test_a_beginning_alone_is_no_success(summary: str) -> None:
    assert judged(summary, ()) == ("failure", "no_report")
    assert judged(summary, None) == ("failure", "no_report")  # nobody can tell what changed
    assert judged(summary, ("a.py",)) == ("success", "success")


@pytest.mark.parametrize("summary", ["", " \n"])
def test_an_empty_report_is_no_success(summary: str) -> None:
    assert judged(summary, ("a.py",)) == ("failure", "no_report")


@pytest.mark.parametrize(
    "summary", ["It was right already.", "I'll start by saying: all is there."]
)
def test_that_no_change_was_needed_is_a_success(summary: str) -> None:
    assert judged(summary, (), "no_change_needed") == ("success", "no_change_needed")


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "piece", ["once ", "I'll ", "and ", "when a, ", "I will continue ", "the "]
)
def test_a_long_summary_is_judged_at_once(piece: str) -> None:
    judged(piece * 20_000, ())
