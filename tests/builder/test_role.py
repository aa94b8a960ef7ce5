"""The text of a role: the project's own, else ours, else the developer's with a warning."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loop.builder.role import MAX_ROLE_BYTES, role_text
from loop.store.paths import Project
from loop.templates import template


def own(project: Project, name: str, data: bytes) -> Path:
    path = project.ai / "roles" / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("role", ["architect", "developer", "tester"])
def test_each_role_has_a_text(project: Project, role: str) -> None:
    assert role_text(project, role) == (template(f"roles/{role}.md"), None)


def test_a_task_without_a_role_is_the_developers(project: Project) -> None:
    assert role_text(project, None) == role_text(project, "developer")


def test_the_project_overrides_a_role_and_adds_its_own(project: Project) -> None:
    own(project, "tester.md", b"\xef\xbb\xbfTest by hand.\n")
    own(project, "writer.md", b"Write.")
    assert role_text(project, "Tester") == ("Test by hand.", None)
    assert role_text(project, "writer") == ("Write.", None)


def test_an_unknown_role_is_the_projects_developer_with_a_warning(project: Project) -> None:
    own(project, "developer.md", b"Our way.")
    text, warning = role_text(project, "wizard")
    assert text == "Our way."
    assert warning is not None and warning.startswith("unknown role 'wizard', carried out as")


@pytest.mark.parametrize("role", ["../../secret", "roles/x", "builder", "secret.md", "x" * 300])
def test_a_role_is_never_a_path(project: Project, role: str) -> None:
    (project.root / "secret.md").write_text("SECRET")
    own(project, "builder.md", b"SECRET")
    text, warning = role_text(project, role)
    assert "SECRET" not in text and warning is not None and len(warning) < 300


@pytest.mark.parametrize(
    ("data", "why"),
    [(b"x" * (MAX_ROLE_BYTES + 1), "longer than"), (b"\xff\xfe", "not UTF-8"), (b"a\0b", "NUL")],
)
def test_an_own_text_that_can_t_be_used_gives_ours_and_a_warning(
    project: Project, data: bytes, why: str
) -> None:
    own(project, "tester.md", data)
    own(project, "wizard.md", data)
    text, warning = role_text(project, "tester")
    assert text == template("roles/tester.md")
    assert warning is not None and why in warning and "tester.md" in warning
    assert why in str(role_text(project, "wizard")[1])


def test_a_blank_own_text_is_none(project: Project) -> None:
    own(project, "tester.md", b" \n")
    assert role_text(project, "tester") == (template("roles/tester.md"), None)


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_out_of_the_project_is_not_followed(project: Project, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("SECRET")
    (project.ai / "roles" / "tester.md").symlink_to(tmp_path / "key")
    text, warning = role_text(project, "tester")
    assert text == template("roles/tester.md") and "link" in str(warning)
    os.mkfifo(project.ai / "roles" / "developer.md")
    assert "not a file" in str(role_text(project, "developer")[1])
