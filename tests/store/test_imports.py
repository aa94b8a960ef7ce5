"""Putting drafts of another system: once each, whenever it is killed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest

from loop.core.task_id import children_of
from loop.errors import Busy
from loop.store.imports import Draft, imported_ids, one_import, take_in_drafts
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.scan import ids_in, locate
from tests.crashing import killed_before_change

NOW = datetime.fromisoformat("2026-07-23T10:00:00+00:00")


def draft(old_id: str, **known: object) -> Draft:
    fields = {"instructions": [old_id], "imported_id": old_id}
    return Draft(old_id=old_id, fields=fields, completed_at=NOW, **known)  # type: ignore[arg-type]


def take_in(project: Project, drafts: Sequence[Draft]) -> dict[str, str]:
    with one_import(project):
        known = imported_ids(project)
        return take_in_drafts(project, [d for d in drafts if d.old_id not in known], known, NOW)


def made(root: Path) -> Project:
    project = Project(root)
    for folder in project.folders():
        folder.mkdir(parents=True)
    return project


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_an_import_that_is_killed_anywhere_is_completed_by_the_next(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    drafts = [draft("F1", state="success"), draft("F2", depends_on=("F1",)),
              draft("F2.4", parent="F2", state="success"), draft("F2.5", parent="F2")]  # fmt: skip
    for step in range(1, 60):
        project = made(tmp_path_factory.mktemp("p"))
        killed = killed_before_change(step, project.ai, partial(take_in, project, drafts))
        with transition(project):
            pass  # whoever takes the lock next finishes what was begun
        assert len(imported_ids(project)) in (0, 4), step
        take_in(project, drafts)
        ids = imported_ids(project)
        assert sorted(ids) == ["F1", "F2", "F2.4", "F2.5"], step
        assert [ids["F2.4"], ids["F2.5"]] == children_of(ids["F2"], 2)
        assert len(ids_in(project.queue)) == 2 and len(ids_in(project.completed)) == 2, step
        if not killed:
            return
    raise AssertionError("the import has more steps than were tried")


def test_subtasks_follow_on_each_other_and_their_parent_counts_them(project: Project) -> None:
    ids = take_in(project, [draft("P.2", parent="P"), draft("P", state="failure"), draft("Q"),
                            draft("P.9", parent="P"), draft("P.9.1", parent="P.9")])  # fmt: skip
    assert ids == {"P": "1", "P.2": "1.1", "Q": "2", "P.9": "1.2", "P.9.1": "1.2.1"}
    assert [locate(project, i, NOW).task.children for i in ("1", "1.2", "2")] == [2, 1, 0]
    ids = take_in(project, [draft("Q.1", parent="Q"), draft("P.10", parent="P")])
    assert ids == {"Q.1": "2.1", "P.10": "3"}  # what has ended takes no subtasks
    assert locate(project, "2", NOW).task.children == 1
    (project.queue / "0002.2.json").write_text('{"instructions": "dropped"}')
    assert take_in(project, [draft("Q.2", parent="Q")]) == {"Q.2": "4"}
    assert locate(project, "2.2", NOW).task.instructions == ["dropped"]


def test_two_imports_at_once_do_not_meet(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loop.store.imports._WAIT_S", 0.0)
    with one_import(project), pytest.raises(Busy), one_import(project):
        pass


def test_a_damaged_file_does_not_hide_what_was_imported(project: Project) -> None:
    take_in(project, [draft("F1"), draft("F2")])
    (project.queue / "0001.json").write_bytes(b'{"imported_id": ')
    assert imported_ids(project) == {"F2": "2"}
