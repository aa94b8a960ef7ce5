"""`loop import`, as a person meets it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loop.store.paths import Project
from tests.cli.conftest import Called

Loop = Callable[..., Called]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "old" / ".autonomy"
    made.mkdir(parents=True)
    features: list[Any] = [
        {"id": "F001", "title": "Design it", "status": "done", "attempt_count": 1},
        {"id": "F002", "title": "Build it \x1b[2J", "dependencies": ["F001"]},
        {"id": "F003", "title": "Ring", "dependencies": ["F003"]},
    ]
    (made / "feature_list.json").write_text(json.dumps({"features": features}))
    (made / "config.json").write_text(
        json.dumps({"task_timeout_minutes": 45, "test_command": "make", "colour": "red"})
    )
    (made / "notify.log").write_text("")
    return made


def test_it_tells_what_became_of_each_entry_and_setting(
    loop: Loop, project: Project, folder: Path
) -> None:
    called = loop("import", str(folder.parent))
    assert (called.code, called.err) == (1, "")
    assert called.out == (
        f"Imported from {folder}\n"
        "\n"
        "Tasks\n"
        "✓  F001  → 1  success  Design it\n"
        "✓  F002  → 2  queued   Build it \\x1b[2J\n"
        "✗  F003  → -  refused  Ring; it waits for itself: F003 → F003\n"
        "Fields without a counterpart: attempt_count (1)\n"
        "Priorities are kept; here high is 10, normal 50, low 90.\n"
        "\n"
        "Settings\n"
        "✓  task_timeout_minutes  → limits.task_timeout_minutes  set\n"
        "✓  test_command          → verify.test_command          set: runs once it is approved\n"
        "·  colour                → (none)                       none: no counterpart\n"
        "Left there, not needed here: notify.log\n"
        "\n"
        "Tasks: 2 imported, 0 skipped, 1 refused. Entries of the handoff log: 0.\n"
        "Next: `loop allow --review` approves the commands; until then nothing runs.\n"
        "Mend what was refused in that folder, and import it again.\n"
    )
    again = loop("import", str(folder)).out
    assert "skipped  Design it; imported before" in again
    assert "0 imported, 2 skipped, 1 refused" in again


def test_a_dry_run_gives_data_and_changes_nothing(
    loop: Loop, project: Project, folder: Path
) -> None:
    data = loop("import", str(folder), "--dry-run", "--json").json
    assert data["counts"] == {"imported": 2, "skipped": 0, "refused": 1}
    assert (data["dry_run"], data["complete"], data["folder"]) == (True, False, str(folder))
    assert data["tasks"][0] == {"imported_id": "F001", "id": None, "outcome": "imported",
                                "state": "success", "title": "Design it", "notes": []}  # fmt: skip
    assert data["fields_left_out"] == {"attempt_count": 1}
    assert (data["needs_approval"], data["other_files"]) == (True, ["notify.log"])
    assert not list(project.queue.iterdir()) and not project.config.exists()


def test_a_long_list_of_what_went_well_is_cut(loop: Loop, project: Project, folder: Path) -> None:
    features = [{"id": f"F{n:03d}", "title": f"T{n}"} for n in range(100)]
    (folder / "feature_list.json").write_text(json.dumps({"features": features}))
    called = loop("import", str(folder))
    assert called.code == 0
    assert "  and 70 more imported\n" in called.out and called.out.count("✓  F") == 30
    assert len(list(project.queue.iterdir())) == 100
    assert loop("status", "--json").json["counts"]["queued"] == 100


def test_a_folder_that_holds_nothing_is_one_line(
    loop: Loop, project: Project, tmp_path: Path
) -> None:
    called = loop("import", str(tmp_path / "nowhere"))
    assert (called.code, called.out) == (1, "")
    assert called.err.startswith("loop: no folder ") and called.err.count("\n") == 1
