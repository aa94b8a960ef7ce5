"""A README as the guard sees it: the entries of its section `## Recent Changes`, and all the rest.

Pure: bytes in, facts out. It reads Markdown as people write it, so that a heading or a date in
another dress is not taken for a missing one:

- The heading: `## Recent Changes` at any level, underlined, as `<h2>`, without a space after the
  `#`, in any case, with a number, an emoji, a colon, a link or a remark in brackets. The section
  ends at the next heading of its level or a higher one.
- An entry: a list item (or a row of a table) that has a date and words. The date stands in it, or
  as a heading or a line of its own above it. What is indented below an item belongs to it.
- Code fences and HTML comments hold neither headings nor entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_YEAR = r"(?:19|20)\d\d"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    rf"""(?<!\d)(?:
        {_YEAR} ([-/.‐‑–]) (?:1[0-2]|0?[1-9]) \1 (?:3[01]|[12]\d|0?[1-9])
      | \d{{1,2}} ([-/.]) \d{{1,2}} \2 {_YEAR}
      | \d{{1,2}} (?:st|nd|rd|th|\.)? [\s-]+ (?:of\s+)? {_MONTH},? [\s-]+ {_YEAR}
      | \b{_MONTH} \s+ \d{{1,2}} (?:st|nd|rd|th)? ,? \s+ {_YEAR}
      | {_YEAR} \s*年\s* \d{{1,2}} \s*月\s* \d{{1,2}} \s*日
    )(?!\d)""",
    re.VERBOSE | re.IGNORECASE,
)
_ATX = re.compile(r" {0,3}(#{1,6})(?!#)(.*)")
_HTML = re.compile(r" {0,3}<h([1-6])\b[^>]*>(.*)", re.IGNORECASE)
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})\s*")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_COMMENT = re.compile(r"<!--.*?-->")
_ITEM = re.compile(r" {0,3}(?:(?:[-*+]|\d{1,9}[.)])\s|\|)\s*(.*)")
_LETTER = re.compile(r"[^\W\d_]")
_MARKUP = re.compile(r"[\s*_`\[\]|]+")
#: around a title: tags, anchors, remarks and link targets, emoji by name
_TRIMMINGS = re.compile(r"<[^>]*>|\{[^}]*\}|\([^)]*\)|:\w+:")
_NUMBERING = re.compile(r"\W*(?:[a-z]|[ivx]+|[\d.]+)[.):]\s", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Readme:
    """What a README says, as far as the guard minds."""

    #: False when there is no section of recent changes
    has_section: bool
    #: the dated entries of the section, without their markup
    entries: frozenset[str]
    #: the lines outside the section that are not blank
    rest: tuple[str, ...]


def read_readme(data: bytes) -> Readme:
    """The README in `data`: UTF-8, UTF-16 with a mark, or anything close to ASCII."""
    lines = _decoded(data).splitlines()
    plain = list(_without_code(lines))
    titles = _titles(plain)
    section: list[tuple[str, bool]] = []
    rest = []
    level = 0  # of the section that we are in; 0 outside
    found = False
    for n, line in enumerate(plain):
        if n in titles:
            its_level, title = titles[n]
            if _is_ours(title):
                found = True
                level = min(level or its_level, its_level)
            elif its_level <= level:
                level = 0
        if level:
            section.append((line, n in titles))
        elif lines[n].strip():
            rest.append(lines[n].rstrip())
    return Readme(found, frozenset(_entries(section)), tuple(rest))


def _decoded(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    return data.decode("utf-8-sig", errors="replace")


def _without_code(lines: list[str]) -> Iterator[str]:
    """The lines with tabs expanded; what is code or a comment is blank."""
    fence = ""
    in_comment = False
    for raw in lines:
        line = raw.expandtabs(4)
        if fence:
            bare = line.strip()
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
            yield ""
        elif in_comment:
            in_comment = "-->" not in line
            yield ""
        elif opening := _FENCE.match(line):
            fence = opening[1]
            yield ""
        else:
            line = _COMMENT.sub("", line)
            in_comment = "<!--" in line and "`" not in line
            yield line.partition("<!--")[0] if in_comment else line


def _titles(lines: list[str]) -> dict[int, tuple[int, str]]:
    """Level and title of each heading, by the number of its line."""
    found: dict[int, tuple[int, str]] = {}
    for n, line in enumerate(lines):
        if atx := _ATX.fullmatch(line):
            if not atx[2].strip() or atx[2][0] == " " or _is_ours(atx[2]):
                found[n] = (len(atx[1]), atx[2])
        elif html := _HTML.fullmatch(line):
            found[n] = (int(html[1]), html[2])
        elif n + 1 < len(lines) and (under := _UNDERLINE.fullmatch(lines[n + 1])):
            starts = n == 0 or not lines[n - 1].strip() or n - 1 in found
            if starts and line.strip() and (_is_ours(line) or not _ITEM.match(line)):
                found[n] = (1 if under[1][0] == "=" else 2, line)
    return found


def _is_ours(title: str) -> bool:
    bare = _TRIMMINGS.sub(" ", title).strip()
    bare = _NUMBERING.sub("", bare, count=1) if _NUMBERING.match(bare) else bare
    return [word.lower() for word in re.findall(r"[^\W\d_]+", bare)] == ["recent", "changes"]


def _entries(section: list[tuple[str, bool]]) -> Iterator[str]:
    for above, words in _items(section):
        text = " ".join(words)
        if _DATE.search(f"{above} {text}") and _LETTER.search(_DATE.sub("", text)):
            yield _MARKUP.sub(" ", f"{above} {text}").strip()


def _items(section: list[tuple[str, bool]]) -> list[tuple[str, list[str]]]:
    """The list items: the dated line that they stand under, and their own lines."""
    items: list[tuple[str, list[str]]] = []
    above = ""
    indent: int | None = None  # of the item that is open
    blank = True
    for line, is_title in section:
        here = len(line) - len(line.lstrip())
        item = _ITEM.match(line)
        if not line.strip():
            blank = True
            continue
        if is_title or _DATE.fullmatch(line.strip(" *_`[]:#")):
            above, indent = (line if _DATE.search(line) else ""), None
        elif indent is not None and here >= indent + 2:
            items[-1][1].append(line)
        elif item:
            items.append((above, [item[1]]))
            indent = here
        elif indent is not None and not blank:
            items[-1][1].append(line)
        else:
            indent = None
        blank = False
    return items
