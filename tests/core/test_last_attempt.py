"""What the next attempt hears of the last."""

from __future__ import annotations

from loop.core.last_attempt import how_it_ended, what_it_left
from loop.core.outcome import Ending, classify
from tests.stream_lines import init, says, transcript, uses


def test_it_hears_the_reason_and_what_was_last_seen() -> None:
    ending = Ending(
        transcript=transcript(init(), says("I look."), uses("Bash", {"command": "npm test"})),
        exit=137, stderr="first\n" * 9 + "\nout of memory\n",
    )  # fmt: skip
    assert how_it_ended(ending, classify(ending)) == (
        "it ended as interrupted. The run was interrupted before it ended (exit 137).\n"
        "The last it said:\nI look.\n"
        "The last it did: Bash npm test\n"
        "The end of its error output:\nfirst\nfirst\nfirst\nfirst\nout of memory\n"
        "Look at what is there before you go on, and do nothing again that is done."
    )


def test_long_words_are_cut_at_their_beginning_and_none_is_said_twice() -> None:
    ending = Ending(transcript=transcript(init(), says("é" * 5000 + "!")), ended_by="silent")
    words = how_it_ended(ending, classify(ending))
    assert "…é" not in words  # its summary says it whole already
    ending = Ending(transcript=transcript(init(), says("é" * 5000 + "!")), exit=137)
    words = how_it_ended(ending, classify(ending))
    assert "…é" in words and "é!" in words and len(words) < 1400


def test_it_hears_which_files_are_changed_and_which_are_in_no_commit() -> None:
    assert what_it_left([], []) == ""
    assert what_it_left(["a"], []) == "Earlier runs of this task changed: a."
    many = [f"f{n}" for n in range(30)]
    words = what_it_left(many, ["f1"])
    assert "f19 and 10 more." in words and "Not committed of that: f1. It may be half" in words
