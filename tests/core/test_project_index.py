"""The project index: what it tells of a list of paths."""

from __future__ import annotations

import random
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from loop.core.project_index import project_index

SHOP = [
    "sfdx-project.json",
    "package.json",
    "README.md",
    "force-app/main/default/classes/A.cls",
    "force-app/main/default/classes/B.cls",
    "force-app/main/default/lwc/header/header.js",
    "scripts/main.py",
    "node_modules/x/index.js",
    "api/pyproject.toml",
    ".ai/queue/0001.json",
]


def test_it_tells_stack_entry_points_types_and_folders(now: datetime) -> None:
    assert (
        project_index("shop", SHOP, now)
        == """\
# Project index: shop

Made 2026-07-23T10:00:00Z, 8 files.

## Stack

- Node.js (`package.json`)
- Salesforce DX (`sfdx-project.json`)
- Python (`api/pyproject.toml`)

## Entry points

- `scripts/main.py`

## File types

- .cls: 2
- .json: 2
- .js: 1
- .md: 1
- .py: 1
- .toml: 1

## Folders

- api/ (1)
- force-app/ (3)
  - main/ (3)
    - default/ (3)
- scripts/ (1)
- README.md
- package.json
- sfdx-project.json
"""
    )


def test_the_order_of_the_paths_does_not_matter(now: datetime) -> None:
    mixed = SHOP * 2
    random.Random(1).shuffle(mixed)
    assert project_index("shop", mixed, now) == project_index("shop", SHOP, now)


def test_a_project_of_a_hundred_thousand_files_fits_on_a_page(now: datetime) -> None:
    paths = [f"src/{n % 97}/{n % 89}/{'d' * 90}{n % 83}/file{n}.x{n % 50}" for n in range(100_000)]
    page = project_index("big", paths, now, whole=False)
    assert len(page.encode()) < 16_000
    assert "100000 files or more; the list was cut" in page
    assert "- and 35 more types" in page
    assert "    - and 64 more folders" in page


def test_no_name_can_steer_a_terminal_or_make_a_line(now: datetime) -> None:
    page = project_index("p\x1b[2J", ["a\n## Stack\n/b", "c`d\x07", "x" * 300], now)
    assert page.count("## Stack") == 2 and page.count("\n## Stack") == 1
    assert not {"\x1b", "\x07", "x" * 61} & set(page) and "x" * 61 not in page


def test_an_empty_project_has_a_page_too(now: datetime) -> None:
    page = project_index("new", [], now)
    assert "nothing known" in page and "0 files" in page


@given(st.lists(st.lists(st.text(max_size=5), max_size=6).map("/".join), max_size=20))
def test_any_paths_make_a_page_in_utf_8(paths: list[str]) -> None:
    page = project_index("p", paths, datetime(2026, 7, 23))
    page.encode("utf-8", "strict")
    assert page.count("\n## ") == 4
