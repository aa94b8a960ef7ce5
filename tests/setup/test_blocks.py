"""Our block in a file of somebody else: put, replaced, and gone without a trace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.errors import LoopError
from loop.setup.blocks import HASH, HTML, Markers, contains, put, remove

BODY = "One\n\nTwo\n"

#: Texts as they come: any endings, none at all, a byte order mark, blank lines, no words.
texts = st.text(alphabet="ab \t\r\n\u00e9\u2028\ufeff#<!->", max_size=40)


def test_a_file_that_does_not_exist_is_the_block_alone() -> None:
    assert put(None, BODY, HASH, ".gitignore") == "# loop:begin\nOne\n\nTwo\n# loop:end\n"


def test_the_block_goes_to_the_end_after_one_blank_line() -> None:
    text = put("# Mine\n", BODY, HTML, "CLAUDE.md")
    assert text == "# Mine\n\n<!-- loop:begin -->\nOne\n\nTwo\n<!-- loop:end -->\n"


def test_a_new_body_replaces_the_old_one_where_it_stands() -> None:
    text = put("before\n", "old", HASH, "f") + "after"
    assert put(text, "new\n", HASH, "f") == "before\n\n# loop:begin\nnew\n# loop:end\nafter"


def test_the_block_takes_the_line_endings_of_the_file() -> None:
    text = put("a\r\nb\r\n", BODY, HASH, "f")
    assert text == "a\r\nb\r\n\r\n# loop:begin\r\nOne\r\n\r\nTwo\r\n# loop:end\r\n"
    assert put(text, "new", HASH, "f").count("\r\n") == put(text, "new", HASH, "f").count("\n")


@pytest.mark.parametrize("markers", [HTML, HASH])
@given(text=st.none() | texts)
def test_remove_gives_back_what_put_was_given(markers: Markers, text: str | None) -> None:
    assert remove(put(text, BODY, markers, "f"), markers, "f") == text


@given(text=st.none() | texts)
def test_putting_twice_is_putting_once(text: str | None) -> None:
    once = put(text, BODY, HTML, "f")
    assert put(once, BODY, HTML, "f") == once


@given(before=st.none() | texts, after=texts)
def test_what_was_written_after_the_block_survives_a_replacement_and_a_removal(
    before: str | None, after: str
) -> None:
    text = put(before, BODY, HASH, "f") + "\n" + after
    replaced = put(text, "other\nwords", HASH, "f")
    assert replaced.startswith(before or "")
    assert replaced.endswith("\n" + after)
    removed = remove(replaced, HASH, "f")
    assert (removed or "").startswith((before or "").rstrip("\r\n"))
    assert (removed or "").endswith(after)


def test_an_empty_file_stays_when_the_block_goes_but_a_file_made_for_it_is_told_as_none() -> None:
    assert remove(put("", BODY, HASH, "f"), HASH, "f") == ""
    assert remove(put(None, BODY, HASH, "f"), HASH, "f") is None


def test_a_text_without_the_block_is_left_alone() -> None:
    assert remove("a\n", HASH, "f") == "a\n"
    assert not contains("a\n", HASH, "f")
    assert contains(put("a\n", BODY, HASH, "f"), HASH, "f")


def test_a_marker_that_is_spoken_of_inside_a_line_is_no_marker() -> None:
    text = "The line `# loop:begin` opens our block, `# loop:end` closes it.\n"
    assert remove(put(text, BODY, HASH, "f"), HASH, "f") == text


def test_a_block_after_a_byte_order_mark_that_an_editor_added_is_still_found() -> None:
    text = "\ufeff" + put(None, BODY, HASH, "f")
    assert put(text, BODY, HASH, "f") == text
    assert remove(text, HASH, "f") == "\ufeff"


def test_a_block_whose_lines_were_indented_by_an_editor_is_still_found() -> None:
    text = "a\n\n  # loop:begin\n  One\n  # loop:end  \nb\n"
    assert put(text, "New", HASH, "f").count("loop:begin") == 1
    assert remove(text, HASH, "f") == "a\nb\n"


@pytest.mark.parametrize(
    ("damaged", "where"),
    [
        ("a\n# loop:begin\nb\n", "'# loop:begin' stands in line 2, '# loop:end' nowhere"),
        ("a\n# loop:end\nb\n", "'# loop:begin' stands nowhere, '# loop:end' in line 2"),
        ("# loop:end\n# loop:begin\n", "stands in line 2, '# loop:end' in line 1"),
        (
            "# loop:begin\n# loop:end\n# loop:begin\n# loop:end\n",
            "stands in lines 1 and 3, '# loop:end' in lines 2 and 4",
        ),
        ("# loop:begin\n# loop:begin\n# loop:end\n", "in lines 1 and 2, '# loop:end' in line 3"),
    ],
)
def test_damaged_markers_are_an_error_that_names_the_file_and_the_lines(
    damaged: str, where: str
) -> None:
    for attempt in (
        lambda: put(damaged, BODY, HASH, "/p/.gitignore"),
        lambda: remove(damaged, HASH, "/p/.gitignore"),
        lambda: contains(damaged, HASH, "/p/.gitignore"),
    ):
        with pytest.raises(LoopError) as error:
            attempt()
        message = str(error.value)
        assert message.startswith("/p/.gitignore: ")
        assert where in message
        assert "\n" not in message
