"""The section of recent changes, as people write it."""

from __future__ import annotations

import pytest

from loop.hooks.readme import Readme, read_readme


def read(text: str) -> Readme:
    return read_readme(text.encode())


@pytest.mark.parametrize(
    "heading",
    [
        "## Recent Changes",
        "# Recent Changes",
        "### Recent Changes",
        "###### Recent Changes",
        "   ## Recent Changes   ",
        "## recent changes",
        "## RECENT CHANGES",
        "## Recent changes:",
        "## Recent Changes ##",
        "## Recent Changes ########",
        "##Recent Changes",
        "##\tRecent Changes",
        "## **Recent Changes**",
        "## _Recent Changes_",
        "## 📝 Recent Changes",
        "## 🗓️ Recent Changes ✨",
        "## :memo: Recent Changes",
        "## 5. Recent Changes",
        "## 5.1. Recent Changes",
        "## 5) Recent Changes",
        "## IV. Recent Changes",
        "## B. Recent Changes",
        "## [Recent Changes](#recent-changes)",
        "## Recent Changes (newest first)",
        "## Recent Changes {#recent-changes}",
        '## <a name="recent"></a>Recent Changes',
        "## Recent-Changes",
        "Recent Changes\n---",
        "Recent changes:\n--------------",
        "Recent Changes\n===",
        "1. Recent Changes\n---",
        "<h2>Recent Changes</h2>",
        '<h2 align="center">Recent Changes</h2>',
    ],
)
def test_the_heading_is_recognised_as_people_write_it(heading: str) -> None:
    readme = read(f"# Project\n\nWords.\n\n{heading}\n\n- 2026-07-23: Faster search.\n")
    assert readme.has_section
    assert readme.entries == {"2026-07-23: Faster search."}
    assert readme.rest == ("# Project", "Words.")


@pytest.mark.parametrize(
    "heading",
    [
        "Recent Changes",
        "**Recent Changes**",
        "## Changes",
        "## Recent Changes in the parser",
        "## No Recent Changes",
        "####### Recent Changes",
        "    ## Recent Changes",
        "\t## Recent Changes",
        "- Recent Changes",
        "> ## Recent Changes",
        "```\n## Recent Changes",
        "~~~~ text\n~~~\n## Recent Changes",
        "<!--\n## Recent Changes",
        "<!-- ## Recent Changes -->",
    ],
)
def test_what_is_no_such_heading_is_not_taken_for_one(heading: str) -> None:
    readme = read(f"# Project\n\n{heading}\n\n- 2026-07-23: Faster search.\n")
    assert not readme.has_section
    assert not readme.entries


@pytest.mark.parametrize(
    "entry",
    [
        "- 2026-07-23: Faster search.",
        "* 2026-07-23: Faster search.",
        "+ 2026-07-23 - Faster search.",
        "1. 2026-07-23: Faster search.",
        "2) 2026-07-23: Faster search.",
        "  - 2026-07-23: Faster search.",
        "-\t2026-07-23: Faster search.",
        "- **2026-07-23** Faster search.",
        "- [2026-07-23] Faster search.",
        "- [x] 2026-07-23 Faster search.",
        "- `2026-07-23`: Faster search.",
        "- (2026-07-23) Faster search.",
        "- 2026-07-23T10:00Z Faster search.",
        "- 2026/07/23: Faster search.",
        "- 2026.7.3: Faster search.",
        "- 2026‑07‑23: Faster search.",
        "- 23.07.2026: Faster search.",
        "- 07/23/2026: Faster search.",
        "- 23 July 2026: Faster search.",
        "- 23rd of July 2026: Faster search.",
        "- 23-Jul-2026: Faster search.",
        "- 23. Juli 2026: Schnellere Suche.",
        "- July 23, 2026: Faster search.",
        "- Jul. 23rd, 2026: Faster search.",
        "- 2026年7月23日:更快的搜索",
        "- Faster search (2026-07-23)",
        "- 2026-07-23\n  - Faster search.",
        "- Search\n  - 2026-07-23: faster.",
        "- Faster search,\n  since 2026-07-23.",
        "- Faster search,\nsince 2026-07-23.",
        "- Search\n\n  Faster since 2026-07-23.",
        "### 2026-07-23\n\n- Faster search.",
        "### [1.2.0] - 2026-07-23\n\n#### Added\n\n- 2026-07-23: Faster search.",
        "**2026-07-23**\n\n- Faster search.",
        "| Date | Change |\n|---|---|\n| 2026-07-23 | Faster search |",
    ],
)
def test_a_dated_item_is_an_entry_however_it_is_written(entry: str) -> None:
    assert len(read(f"## Recent Changes\n\n{entry}\n").entries) == 1


@pytest.mark.parametrize(
    "words",
    [
        "",
        "- Faster search.",
        "- YYYY-MM-DD: Faster search.",
        "- 2026-07-23",
        "- 2026-07-23: ...",
        "- **2026-07-23:**",
        "- 2026-13-45: Faster search.",
        "- 12026-07-23: Faster search.",
        "- July 2026: Faster search.",
        "- 2026: Faster search.",
        "- Costs 2026-07 credits.",
        "2026-07-23: Faster search.",
        "-2026-07-23: Faster search.",
        "```\n- 2026-07-23: Faster search.\n```",
        "<!-- - 2026-07-23: Faster search. -->",
        "<!--\n- 2026-07-23: Faster search.\n-->",
        "    - 2026-07-23: Faster search.",
        "## Setup\n\n- 2026-07-23: Faster search.",
        "# Setup\n\n- 2026-07-23: Faster search.",
        "Setup\n-----\n\n- 2026-07-23: Faster search.",
        "<h2>Setup</h2>\n\n- 2026-07-23: Faster search.",
        "### 2026-07-23\n\n### Later\n\n- Faster search.",
    ],
)
def test_what_has_no_date_or_no_words_or_stands_elsewhere_is_no_entry(words: str) -> None:
    readme = read(f"## Recent Changes\n\n{words}\n")
    assert readme.has_section
    assert not readme.entries


def test_the_section_ends_at_the_next_heading_of_its_level_and_goes_on_over_lower_ones() -> None:
    readme = read(
        "## Recent Changes\n- 2026-07-23: One.\n### More\n- 2026-07-22: Two.\n\n---\n\n"
        "- 2026-07-21: Three.\n## Setup\n- 2026-07-20: Four.\n"
    )
    assert readme.entries == {"2026-07-23: One.", "2026-07-22: Two.", "2026-07-21: Three."}
    assert readme.rest == ("## Setup", "- 2026-07-20: Four.")


@pytest.mark.parametrize("line", ["- 2026-07-23: One.", "- 2026-07-23: One,\nand more."])
def test_a_rule_below_an_item_is_no_underlined_heading(line: str) -> None:
    readme = read(f"## Recent Changes\n\n{line}\n---\n- 2026-07-22: Two.\n")
    assert len(readme.entries) == 2


def test_two_sections_of_that_name_are_both_read() -> None:
    readme = read("# Recent Changes\n- 2026-07-23: A.\n# B\n## Recent changes\n- 2026-07-22: C.\n")
    assert readme.entries == {"2026-07-23: A.", "2026-07-22: C."}


def test_markup_and_line_breaks_make_no_new_entry() -> None:
    before = read("## Recent Changes\n* **2026-07-23** Faster\n  search.\n")
    after = read("## Recent Changes\r\n\r\n- __2026-07-23__   Faster search.\r\n")
    assert before.entries == after.entries


def test_a_fence_inside_the_section_hides_headings_but_not_what_follows_it() -> None:
    readme = read("## Recent Changes\n```sh\n# Setup\n```\n- 2026-07-23: Faster search.\n")
    assert readme.entries == {"2026-07-23: Faster search."}


def test_code_that_shows_a_comment_mark_hides_nothing() -> None:
    readme = read("Use `<!--` here.\n\n## Recent Changes\n- 2026-07-23: Faster search.\n")
    assert readme.entries


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_a_readme_is_read_in_the_encodings_people_have(encoding: str) -> None:
    data = "## Recent Changes\n- 2026-07-23: Schöner.\n".encode(encoding)
    assert len(read_readme(data).entries) == 1


def test_any_bytes_can_be_read() -> None:
    assert read_readme(bytes(range(256)) * 3) == read_readme(bytes(range(256)) * 3)
    assert not read_readme(b"").has_section
