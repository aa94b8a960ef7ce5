from __future__ import annotations

from pathlib import Path

import pytest

from loop.builder.permissions import (
    approve,
    approved,
    approved_command_file,
    approved_file,
    check_command,
    forget,
)
from loop.errors import NotReady
from loop.store.paths import Project
from loop.store.project_files import load_config

RULES = b'{"permissions": {"allow": ["Read"]}}\n'


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_what_is_passed_on_is_a_copy_outside_the_project(
    project: Project, state_home: Path
) -> None:
    project.builder_settings.write_bytes(RULES)
    copy = approve(project)
    assert approved(project) == copy == approved_file(project)
    assert copy.read_bytes() == RULES
    assert copy.is_relative_to(state_home)
    assert not copy.is_relative_to(project.root)
    assert approve(project) == copy


def test_nothing_runs_before_the_rules_are_approved(project: Project) -> None:
    project.builder_settings.write_bytes(RULES)
    with pytest.raises(NotReady, match="not approved yet: run `loop init`") as error:
        approved(project)
    assert error.value.kind == "permissions"


def test_rules_that_changed_since_stop_until_they_are_approved(project: Project) -> None:
    project.builder_settings.write_bytes(RULES)
    approve(project)
    project.builder_settings.write_bytes(RULES.replace(b"Read", b"Bash"))
    with pytest.raises(NotReady, match="differs from what was approved"):
        approved(project)
    approve(project)
    assert b"Bash" in approved(project).read_bytes()


def test_a_project_s_file_that_is_gone_leaves_what_was_approved(project: Project) -> None:
    project.builder_settings.write_bytes(RULES)
    copy = approve(project)
    project.builder_settings.unlink()
    assert approved(project) == copy


@pytest.mark.parametrize("data", [None, b"", b"{", b"[]", b"\xff"])
def test_what_are_no_rules_can_not_be_approved(project: Project, data: bytes | None) -> None:
    if data is not None:
        project.builder_settings.write_bytes(data)
    with pytest.raises(NotReady, match=r"\.ai/builder\.settings\.json"):
        approve(project)
    assert not approved_file(project).exists()


def test_two_projects_of_one_name_have_rules_of_their_own(project: Project, tmp_path: Path) -> None:
    other = Project(tmp_path / "elsewhere" / project.name)
    assert approved_file(other) != approved_file(project)


def test_forgetting_takes_the_copy_away(project: Project) -> None:
    project.builder_settings.write_bytes(RULES)
    copy = approve(project)
    forget(project)
    forget(project)
    assert not copy.parent.exists()
    assert project.builder_settings.read_bytes() == RULES


@pytest.mark.parametrize(
    "asked",
    [
        '"builder": {"command": "/evil"}',
        '"builder": {"extra_args": ["--allowedTools=Bash"]}',
        '"verify": {"test_command": "/evil"}',
        '"verify": {"lint_command": "/evil"}',
    ],
)
def test_what_the_settings_want_executed_counts_only_when_approved(
    project: Project, asked: str
) -> None:
    project.builder_settings.write_bytes(RULES)
    approve(project)
    check_command(project, load_config(project))
    project.config.write_text(f"{{{asked}}}")
    with pytest.raises(NotReady, match="not what was approved") as error:
        check_command(project, load_config(project))
    assert error.value.kind == "permissions"
    approve(project)
    check_command(project, load_config(project))


def test_settings_that_go_back_to_the_defaults_need_no_approval(project: Project) -> None:
    project.builder_settings.write_bytes(RULES)
    project.config.write_text('{"builder": {"command": "/opt/claude"}}')
    approve(project)
    project.config.write_text('{"builder": {"max_turns": 5}}')
    check_command(project, load_config(project))
    approve(project)
    assert not approved_command_file(project).exists()
