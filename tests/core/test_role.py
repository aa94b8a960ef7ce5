"""Names of roles, and the prefixes of their commits."""

from __future__ import annotations

import pytest

from loop.core.role import commit_prefix, role_name


@pytest.mark.parametrize(
    ("role", "name"),
    [(None, "developer"), ("", "developer"), ("Architect ", "architect"), ("qa_2-b", "qa_2-b")],
)
def test_a_role_is_named_in_small_letters_and_none_is_the_developer(
    role: str | None, name: str
) -> None:
    assert role_name(role) == name


@pytest.mark.parametrize(
    "role",
    ["../developer", "a/b", "a\\b", "..", ".", "/etc/passwd", "a.md", "~", "x" * 65, "Ä", "a b",
     "builder", "C:x", "a\n", "a\0"],
)  # fmt: skip
def test_what_could_be_a_path_is_no_role(role: str) -> None:
    assert role_name(role) in (None, "a") and role_name(role) != role


@pytest.mark.parametrize(
    ("role", "prefix"),
    [(None, "feat"), ("developer", "feat"), ("architect", "design"), ("tester", "test"),
     ("TESTER", "test"), ("other", "feat"), ("../x", "feat")],
)  # fmt: skip
def test_commits_are_prefixed_by_role(role: str | None, prefix: str) -> None:
    assert commit_prefix(role, "feat") == prefix
