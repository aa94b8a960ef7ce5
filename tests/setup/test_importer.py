"""Importing a `.autonomy/` folder: what becomes what, and what bad input can't do."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.actions.reset import reset
from loop.errors import NotFound
from loop.setup.feature_order import in_order
from loop.setup.importer import ImportReport, Row, import_folder
from loop.store import progress, timeline
from loop.store.dependencies import graph_of
from loop.store.imports import Draft
from loop.store.paths import Project
from loop.store.project_files import load_config
from loop.store.scan import Located, QueueScan, ids_in, locate
from tests.tasks import submit


def feature(old_id: str, **fields: Any) -> dict[str, Any]:
    return {"id": old_id, "title": f"Title {old_id}", "description": f"Do {old_id}"} | fields


def write(folder: Path, features: list[Any], **config: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "feature_list.json").write_text(json.dumps({"version": 1, "features": features}))
    if config:
        (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".autonomy"


def rows(report: ImportReport) -> dict[str, Row]:
    return {row.old_id: row for row in report.rows}


def at(project: Project, report: ImportReport, old_id: str, now: datetime) -> Located:
    task_id = rows(report)[old_id].task_id
    assert task_id is not None
    return locate(project, task_id, now)


def test_a_list_becomes_tasks_with_ids_links_and_states(
    project: Project, folder: Path, now: datetime
) -> None:
    submit(project, now, "there before")
    write(
        folder,
        [
            feature("F001", status="done", notes="Use a map.", role="architect",
                    completed_at="2026-07-01T08:00:00Z"),
            feature("F002", dependencies=["F001"], priority=3, acceptance_criteria=["Fast"],
                    role="developer", max_attempts=2, notes="n"),
            feature("F002.1", parent_id="F002", status="in_progress"),
            feature("F002.2", parent_id="F002", dependencies=["F002.1"]),
            feature("F003", status="failed", notes="It broke."),
            feature("F004", status="blocked", dependencies=["F003"], notes="F003 failed"),
        ],
    )  # fmt: skip
    report = import_folder(project, folder, now)
    assert report.complete
    assert {old: row.task_id for old, row in rows(report).items()} == {
        "F001": "2", "F002": "3", "F002.1": "3.1", "F002.2": "3.2", "F003": "4", "F004": "5",
    }  # fmt: skip
    done = at(project, report, "F001", now)
    assert done.state == "success" and done.result is not None
    assert (done.result.reason, done.result.notes) == ("imported", "Use a map.")
    assert done.result.completed_at.isoformat() == "2026-07-01T08:00:00+00:00"
    assert done.task.extra == {"imported_id": "F001"}
    task = at(project, report, "F002", now).task
    assert (task.instructions, task.title) == (["Do F002"], "Title F002")
    assert (task.priority, task.role, task.max_attempts, task.notes) == (3, "developer", 2, "n")
    assert (task.depends_on, task.acceptance_criteria, task.parent) == (["2"], ["Fast"], None)
    child = at(project, report, "F002.1", now)
    assert (child.state, child.task.parent, child.task.priority) == ("queued", "3", 3)
    assert child.task.note_to_run is not None and "in progress" in child.task.note_to_run
    assert at(project, report, "F002.2", now).task.depends_on == ["3.1"]
    assert at(project, report, "F003", now).state == "failure"
    blocked = at(project, report, "F004", now)
    assert blocked.state == "queued" and blocked.task.depends_on == ["4"]
    assert str(blocked.task.notes).endswith("F003 failed")
    events = timeline.read_from(project.timeline, 0)[0]
    assert [(e["event"], e["actor"]) for e in events[1:]] == [("task_queued", "user")] * 6


def test_a_second_import_takes_only_what_is_new_and_links_it_to_what_was_there(
    project: Project, folder: Path, now: datetime
) -> None:
    write(folder, [feature("F001", status="done"), feature("F002")])
    import_folder(project, folder, now)
    (project.queue / "0002.json").rename(project.running / "0002.json")
    write(folder, [feature("F001"), feature("F002"), feature("F002.7", parent_id="F002"),
                   feature("F003", dependencies=["F001", "F002"])])  # fmt: skip
    report = import_folder(project, folder, now)
    assert [row.outcome for row in report.rows] == ["skipped", "skipped", "imported", "imported"]
    assert [row.task_id for row in report.rows] == ["1", "2", "3", "4"]
    assert rows(report)["F002.7"].notes == [
        "its parent F002 has run here already, so it is a task of its own"
    ]
    assert at(project, report, "F003", now).task.depends_on == ["1", "2"]
    assert [row.outcome for row in import_folder(project, folder, now).rows] == ["skipped"] * 4


def test_nothing_changes_in_the_folder_and_in_a_dry_run_nowhere(
    project: Project, folder: Path, now: datetime
) -> None:
    write(folder, [feature("F001"), feature("F002", status="done")], commit_prefix="feature")
    (folder / "progress.txt").write_text("head\n===\ntask: F001\n===\n")

    def contents(root: Path) -> dict[Path, bytes]:
        return {p: p.read_bytes() for p in root.rglob("*") if p.is_file()
                and not p.name.endswith(".lock")}  # fmt: skip

    theirs, ours = contents(folder), contents(project.ai)
    report = import_folder(project, folder.parent, now, dry_run=True)
    assert (len(report.rows), report.log_entries) == (2, 1)
    assert [(row.outcome, row.task_id) for row in report.rows] == [("imported", None)] * 2
    assert contents(project.ai) == ours
    import_folder(project, folder.parent, now)
    assert contents(folder) == theirs
    assert contents(project.ai) != ours


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (7, "is no object"),
        ({"title": "T"}, "id: is missing"),
        ({"id": 7, "title": "T"}, "id: give a text"),
        ({"id": "F1\n", "title": "T"}, "id: is no name"),
        (feature("F009"), "F009 stands at an earlier entry too"),
        ({"id": "F1"}, "description: is missing"),
        (feature("F1", title=5), "title: give a text"),
        (feature("F1", status="finished"), "status: is not one of pending"),
        (feature("F1", status=["done"]), "status: is not one of"),
        (feature("F1", dependencies="F009"), "dependencies: give a list of ids"),
        (feature("F1", dependencies=[1]), "dependencies: give a list of ids"),
        (feature("F1", parent_id=3), "parent_id: give a text"),
        (feature("F1", dependencies=["F777"]), "it depends on F777, which is not in the list"),
        (feature("F1", dependencies=["F1"]), "it waits for itself: F1 → F1"),
        (feature("F1", parent_id="F1"), "its parents form a ring: F1 → F1"),
        (feature("F1", description="a\0b"), "NUL"),
    ],
)
def test_a_bad_entry_is_refused_with_its_reason_and_the_rest_goes_on(
    project: Project, folder: Path, now: datetime, bad: Any, why: str
) -> None:
    write(folder, [feature("F009"), bad, feature("F010", dependencies=["F009"])])
    report = import_folder(project, folder, now)
    refused = [row for row in report.rows if row.outcome == "refused"]
    assert len(refused) == 1 and why in refused[0].notes[0]
    assert not report.complete
    assert sorted(ids_in(project.queue)) == ["1", "2"]


def test_what_stands_on_a_refused_entry_is_refused_too_but_what_has_ended_is_not(
    project: Project, folder: Path, now: datetime
) -> None:
    write(
        folder,
        [
            feature("A", dependencies=["B"]), feature("B", dependencies=["A"]),
            feature("C", dependencies=["A"]), feature("D", dependencies=["C"]),
            feature("E", parent_id="C"), feature("F", dependencies=["A"], status="done"),
            feature("G", parent_id="gone"), feature("H", status="odd"), feature("I", parent_id="H"),
        ],
    )  # fmt: skip
    report = rows(import_folder(project, folder, now))
    assert report["A"].notes == report["B"].notes == ["it waits for itself: A → B → A"]
    assert report["C"].notes == ["it depends on A, which was not imported"]
    assert report["D"].notes == ["it depends on C, which was not imported"]
    assert report["E"].notes == ["its parent C was not imported"]
    assert report["F"].outcome == "imported"
    assert report["F"].notes == ["what it depended on is not here: A"]
    assert report["G"].notes == ["its parent gone is not in the list; it has none now"]
    assert report["I"].notes == ["its parent H was not imported"]


def test_a_child_that_waits_for_its_parent_or_for_what_waits_for_it_is_a_ring(
    project: Project, folder: Path, now: datetime
) -> None:
    write(
        folder,
        [
            feature("P"), feature("P.1", parent_id="P", dependencies=["P"]),
            feature("Q", dependencies=["R"]), feature("Q.1", parent_id="Q"),
            feature("R", dependencies=["Q.1"]),
            feature("S"), feature("S.1", parent_id="S"), feature("T", dependencies=["S"]),
        ],
    )  # fmt: skip
    report = rows(import_folder(project, folder, now))
    assert report["P.1"].notes == ["it waits for itself: P → P.1 → P"]
    assert "Q.1 → R" in report["R"].notes[0]
    assert [report[old].outcome for old in ("S", "S.1", "T")] == ["imported"] * 3


def test_a_ring_of_a_thousand_and_parents_a_thousand_deep_are_dealt_with(
    project: Project, folder: Path, now: datetime
) -> None:
    ring = [feature(f"R{n}", dependencies=[f"R{(n + 1) % 1000}"]) for n in range(1000)]
    deep = [feature(f"D{n}", parent_id=f"D{n - 1}" if n else None) for n in range(100)]
    report = import_folder(project, write(folder, [*ring, *deep]), now)
    by_id = rows(report)
    assert "more →" in by_id["R5"].notes[0] and len(by_id["R5"].notes[0]) < 200
    assert all(by_id[f"D{n}"].outcome == "imported" for n in range(100))
    assert by_id["D8"].task_id == "1" + ".1" * 8
    assert by_id["D9"].notes == ["ids go no deeper, so it is a task of its own"]
    deepest = at(project, report, "D9", now).task
    assert (deepest.parent, deepest.children) == (None, 1)


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"\xff", b'{"features": {}}', b"{}", b'{"features":' + b"[" * 100_000],
)
def test_a_broken_list_is_told_and_the_settings_are_imported_all_the_same(
    project: Project, folder: Path, now: datetime, data: bytes
) -> None:
    write(folder, [], commit_prefix="feature")
    (folder / "feature_list.json").write_bytes(data)
    report = import_folder(project, folder, now)
    assert len(report.problems) == 1 and report.problems[0].startswith("feature_list.json: ")
    assert "\n" not in report.problems[0] and not report.complete
    assert load_config(project).commit_prefix == "feature"


def test_optional_fields_that_are_wrong_are_left_out_and_named(
    project: Project, folder: Path, now: datetime
) -> None:
    bad = feature("F001", priority="soon", acceptance_criteria=[1], max_attempts=99, role=[],
                  notes={}, created_at="yesterday", attempt_count=2, owner="me")  # fmt: skip
    report = import_folder(project, write(folder, [bad]), now)
    notes = " ".join(rows(report)["F001"].notes)
    assert all(name in notes for name in ("priority", "acceptance_criteria", "max_attempts"))
    assert report.left_out == {"attempt_count": 1, "owner": 1}
    task = at(project, report, "F001", now).task
    assert (task.priority, task.acceptance_criteria, task.created_at) == (1, [], now)


def test_settings_are_put_onto_ours_and_those_without_counterpart_are_named(
    project: Project, folder: Path, now: datetime
) -> None:
    project.config.write_text('{"limits": {"max_attempts": 5}}\n')
    write(
        folder, [], max_attempts_per_task=2, task_timeout_minutes=45, auto_commit=False,
        test_command="make test", lint_command="", commit_prefix="feat", progress_max_lines=-1,
        notify_webhook="https://open.feishu.cn/x", notify_type="feishu", context_compact=True,
        compact_recent_progress_lines=10, default_team_workflow=["architect"], colour="red",
    )  # fmt: skip
    report = import_folder(project, folder, now)
    outcomes = {s.key: (s.to, s.outcome) for s in report.settings}
    assert outcomes == {
        "max_attempts_per_task": ("limits.max_attempts", "kept"),
        "task_timeout_minutes": ("limits.task_timeout_minutes", "set"),
        "auto_commit": ("checkpoint.mode", "set"),
        "test_command": ("verify.test_command", "set"),
        "commit_prefix": ("commit_prefix", "unchanged"),
        "progress_max_lines": ("progress.max_lines", "refused"),
        "notify_webhook": ("notify.feishu", "set"),
        "context_compact": (None, "none"),
        "compact_recent_progress_lines": ("context.recent_lines", "set"),
        "default_team_workflow": (None, "none"),
        "colour": (None, "none"),
    }
    config = load_config(project)
    assert (config.limits.max_attempts, config.limits.task_timeout_minutes) == (5, 45)
    assert (config.checkpoint.mode, config.verify.test_command) == ("ref", "make test")
    assert config.notify.feishu == "https://open.feishu.cn/x"
    before = project.config.read_bytes()
    again = import_folder(project, folder, now)
    assert {s.outcome for s in again.settings} == {"unchanged", "kept", "none", "refused"}
    assert project.config.read_bytes() == before


@pytest.mark.parametrize(
    ("kind", "address"), [("feishu", "http://example.com/SECRET"), ("serverchan", "SCU123")]
)
def test_an_address_that_our_settings_refuse_is_not_put_into_them(
    project: Project, folder: Path, now: datetime, kind: str, address: str
) -> None:
    write(folder, [], notify_webhook=address, notify_type=kind, commit_prefix="x")
    report = import_folder(project, folder, now)
    refused = next(s for s in report.settings if s.key == "notify_webhook")
    assert (refused.outcome, address in str(refused.note)) == ("refused", False)
    assert load_config(project).commit_prefix == "x"


def test_commands_that_were_switched_off_there_do_not_run_here(
    project: Project, folder: Path, now: datetime
) -> None:
    write(folder, [], test_command="make test", verify_before_done=False)
    import_folder(project, folder, now)
    assert load_config(project).verify.test_command is None


def test_settings_of_ours_that_are_broken_are_left_alone(
    project: Project, folder: Path, now: datetime
) -> None:
    project.config.write_text('{"oops')
    write(folder, [feature("F001")], commit_prefix="x")
    report = import_folder(project, folder, now)
    assert "mend it first" in report.problems[0]
    assert project.config.read_text() == '{"oops' and ids_in(project.queue) == ["1"]


def test_the_log_is_taken_over_once_entry_by_entry(
    project: Project, folder: Path, now: datetime
) -> None:
    write(folder, [])
    entries = [f"===\nsession: {n}\ntask: F{n:03d}\n\x1b[2Jchanges: é\n" for n in range(60)]
    (folder / "progress.txt").write_text("Title\n" + "".join(entries) + "===\n")
    assert import_folder(project, folder, now).log_entries == 60
    live = project.progress.read_text()
    archived = progress.archive_of(project).read_text()
    assert len(live.splitlines()) <= 100 and "\x1b" not in live
    assert archived.count("session:") + live.count("session:") == 60
    assert progress.relevant(project, "1", 30, also=["F003"])[1] == "task: F003"
    (folder / "progress.txt").write_text("Title\n" + "".join(entries) + "===\nsession: new\n===\n")
    assert import_folder(project, folder, now).log_entries == 1
    assert progress.recent(project, 1) == ["session: new"]


def test_a_folder_without_anything_to_import_is_an_error(
    project: Project, tmp_path: Path, now: datetime
) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(NotFound, match=r"name the \.autonomy folder"):
            import_folder(project, place, now)


@pytest.mark.skipif(os.name == "nt", reason="pipes and links")
def test_what_is_no_plain_file_there_is_not_opened(
    project: Project, folder: Path, now: datetime
) -> None:
    write(folder, [feature("F001")])
    os.mkfifo(folder / "config.json")
    (folder / "progress.txt").mkdir()
    (folder / "progress.archive.txt").write_bytes(b"\x7fELF\0")
    assert import_folder(project, folder, now).problems == [
        "config.json: is not a file",
        "progress.archive.txt: is no text",
        "progress.txt: is not a file",
    ]


def test_a_parent_is_taken_in_as_its_parts_are(
    project: Project, folder: Path, now: datetime
) -> None:
    def family(old: str, status: str, *parts: str) -> list[dict[str, Any]]:
        made = [feature(f"{old}.{n}", status=part, parent_id=old) for n, part in enumerate(parts)]
        return [*made, feature(old, status=status, priority=7)]

    families = {
        "A": ("done", "done", "done"),
        "B": ("done", "done", "pending"),
        "C": ("failed", "failed", "done"),
        "D": ("failed", "failed", "blocked"),
        "E": ("in_progress", "done", "done"),
    }
    write(folder, [entry for old, states in families.items() for entry in family(old, *states)])
    report = import_folder(project, folder, now)
    found = {old: at(project, report, old, now) for old in "ABCDE"}
    states = {old: located.state for old, located in found.items()}
    assert states == {"A": "success", "B": "queued", "C": "failure", "D": "queued", "E": "queued"}
    assert [located.task.children for located in found.values()] == [2] * 5
    assert rows(report)["D"].notes == ["was failed, but not all its parts; it ends with them"]
    part = at(project, report, "B.1", now).task
    assert (part.parent, part.priority) == (found["B"].task.id, 7)
    assert found["E"].task.note_to_run is None
    graph = graph_of(project, QueueScan(project, lambda: now).look().tasks, now)
    first = graph.next_ready()
    assert first is not None and first.id == part.id
    assert graph.ended_parents() == {found["E"].task.id: "success"}


def test_what_is_done_has_the_commits_that_name_it(
    project: Project, folder: Path, now: datetime
) -> None:
    def git(*words: str) -> str:
        names = ["-c", "user.name=P", "-c", "user.email=p@example.invalid"]
        done = subprocess.run(["git", *names, *words], cwd=project.root, check=True, timeout=60,
                              capture_output=True, text=True)  # fmt: skip
        return done.stdout

    git("init", "-q")
    for title in ("feat(F001): One", "fix(F001)!: Two", "feat(F0011): Other", "On feat(F002): x"):
        git("commit", "-q", "--allow-empty", "-m", title)
    write(folder, [feature("F001", status="done"), feature("F002", status="done")])
    report = import_folder(project, folder, now)
    hashes = git("log", "--format=%H").split()
    one, two = (at(project, report, old, now).result for old in ("F001", "F002"))
    assert one and one.commits == [hashes[3], hashes[2]] and one.commit_hash == hashes[2]
    assert two and two.commits == [] and two.commit_hash is None


def test_times_of_the_future_or_without_a_zone_are_made_fit(
    project: Project, folder: Path, now: datetime
) -> None:
    later = (now + timedelta(days=9)).isoformat()
    times = [later, "2026-01-02T03:04:05", "0001-01-01T00:00:00+14:00"]
    write(
        folder,
        [feature(f"F00{n}", status="done", completed_at=at) for n, at in enumerate(times, 1)],
    )
    report = import_folder(project, folder, now)
    ended = [at(project, report, f"F00{n}", now).result for n in (1, 2, 3)]
    assert [r.completed_at.isoformat()[:19] if r else None for r in ended] == [
        "2026-07-23T10:00:00", "2026-01-02T03:04:05", "2026-07-23T10:00:00",
    ]  # fmt: skip


NAMES = st.sampled_from([f"N{n}" for n in range(7)])
STATES = st.sampled_from(["queued", "success"])
GRAPHS = st.dictionaries(
    NAMES, st.tuples(st.lists(NAMES, max_size=3), st.none() | NAMES, STATES)
)  # fmt: skip


@given(GRAPHS)
def test_whatever_the_links_what_is_taken_in_stands_behind_what_it_needs(
    graph: dict[str, tuple[list[str], str | None, Any]],
) -> None:
    drafts = {
        old: Draft(old_id=old, fields={}, depends_on=tuple(needs), parent=parent, state=state,
                   completed_at=datetime(2026, 7, 23))
        for old, (needs, parent, state) in graph.items()
    }  # fmt: skip
    order, refused = in_order(drafts, {"N0"}, drafts)
    assert {d.old_id for d in order} | refused.keys() == drafts.keys()
    assert not {d.old_id for d in order} & refused.keys()
    there = {"N0"}
    for draft in order:
        if draft.state == "queued":
            assert set(draft.depends_on) <= there
        assert draft.parent in there or draft.parent not in drafts
        there.add(draft.old_id)


def test_a_log_that_a_reset_has_put_away_is_not_taken_over_again(
    project: Project, folder: Path, now: datetime
) -> None:
    write(folder, [feature("F001", status="done")])
    (folder / "progress.txt").write_text("===\ntask: F001\nstatus: done\n===\n")
    assert import_folder(project, folder, now).log_entries == 1
    reset(project, now, hard=False)
    assert not project.progress.exists()
    assert import_folder(project, folder, now).log_entries == 0
