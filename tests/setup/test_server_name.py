"""What a project's server is called in Claude Desktop."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.setup.desktop import server_name

NOBODY: dict[str, Path | None] = {}


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("ralph-project", "architect_watcher_ralph_project"),
        ("SF Ralph (2)", "architect_watcher_sf_ralph_2"),
        ("__app__", "architect_watcher_app"),
        ("a-name-that-goes-on-for-ever", "architect_watcher_a_name_that_goes_on_fo"),
        ("twenty-two-characters-!-more", "architect_watcher_twenty_two_characters"),
    ],
)
def test_the_name_says_which_folder_it_is(folder: str, name: str) -> None:
    assert server_name(Path("/code of mine") / folder, NOBODY) == name


@given(folder=st.text(min_size=1, max_size=60).filter(lambda name: not set(name) & set("/\x00")))
def test_every_folder_gets_a_short_plain_name(folder: str) -> None:
    root = Path("/projects", folder)
    name = server_name(root, NOBODY)
    assert re.fullmatch(r"architect_watcher_[a-z0-9][a-z0-9_]*", name)
    assert len(name + "__check_builder_status") < 64
    assert server_name(root, NOBODY) == name
    other = server_name(Path("/elsewhere", folder), {name: root.resolve()})
    assert other != name
    assert len(other) <= 40


def test_names_beyond_ascii_are_told_apart_by_a_hash() -> None:
    names = {
        server_name(Path("/p", folder), NOBODY)
        for folder in ("项目", "проект", "café", "cafe", "☃")
    }
    assert len(names) == 5
    assert "architect_watcher_cafe" in names


def test_two_folders_of_one_name_get_two_names_and_each_keeps_its_own(tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "app", tmp_path / "b" / "app"
    taken: dict[str, Path | None] = {}
    for root in (first, second):
        taken[server_name(root, taken)] = root
    assert next(iter(taken)) == "architect_watcher_app"
    assert re.fullmatch(r"architect_watcher_app_[0-9a-f]{6}", list(taken)[1])
    assert [server_name(root, taken) for root in (first, second)] == list(taken)


def test_a_name_that_stands_for_something_else_is_not_used(tmp_path: Path) -> None:
    assert server_name(tmp_path / "app", {"architect_watcher_app": None}) != "architect_watcher_app"


def test_a_folder_keeps_the_name_that_the_person_gave_it(tmp_path: Path) -> None:
    taken = {"architect_watcher_website": tmp_path / "app"}
    assert server_name(tmp_path / "app", taken) == "architect_watcher_website"


def test_a_link_to_the_folder_is_the_folder(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "link").symlink_to("app")
    taken = {"architect_watcher_mine": tmp_path / "app"}
    assert server_name(tmp_path / "link", taken) == "architect_watcher_mine"


def test_even_a_hash_that_is_taken_is_passed_over(tmp_path: Path) -> None:
    root, other = tmp_path / "an-application-with-a-name", tmp_path / "other"
    taken: dict[str, Path | None] = {}
    for _ in range(6):
        taken[server_name(root, taken)] = other
    assert len(taken) == 6
    assert max(map(len, taken)) <= 40
