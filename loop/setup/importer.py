"""`loop import`: takes over the tasks, settings and handoff log of a `.autonomy/` folder.

Owns: reading that folder, the order of the steps, the report. Does not own: what a field means
(`feature_list`, `imported_config`), how tasks are put (`store/imports`).

Invariants: nothing in that folder is changed. What can't be taken is told, entry by entry, and the
rest goes on. A second import takes only what is new.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from loop.core.config import Config
from loop.core.task import decode_object
from loop.errors import BadInput, NotFound, NotReady
from loop.setup import imported_config
from loop.setup.feature_commits import commits_by_feature
from loop.setup.feature_families import as_families
from loop.setup.feature_list import draft_of, feature_id, unmapped
from loop.setup.feature_order import in_order
from loop.store import progress
from loop.store.archive import archives
from loop.store.files import read, read_end
from loop.store.imports import (
    Draft,
    imported_ids,
    one_import,
    take_in_drafts,
    takes_subtasks,
)
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.project_files import load_config

FILES = ("feature_list.json", "config.json", "progress.txt", "progress.archive.txt")
#: Settings that run a program.
COMMANDS = ("verify.test_command", "verify.lint_command")
_MAX_BYTES = 64 * 1024 * 1024
_MAX_LOG_BYTES = 4 * 1024 * 1024


@dataclass(slots=True)
class Row:
    """What became of one entry of the list."""

    #: its id there, or its place such as `entry 3`
    old_id: str
    outcome: Literal["imported", "skipped", "refused"]
    title: str = ""
    #: its id here; None when refused, and in a dry run
    task_id: str | None = None
    state: str | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ImportReport:
    """What an import did, or would do."""

    folder: Path
    dry_run: bool
    rows: list[Row] = field(default_factory=list)
    #: fields of features that have no counterpart, and how many features have them
    left_out: dict[str, int] = field(default_factory=dict)
    settings: list[imported_config.Setting] = field(default_factory=list)
    #: entries of the handoff log that were taken over
    log_entries: int = 0
    #: files of the folder that have no counterpart: here they are made anew
    other_files: list[str] = field(default_factory=list)
    #: whole files that could not be read
    problems: list[str] = field(default_factory=list)

    @property
    def approval(self) -> bool:
        """Whether a command was set that runs only when the person has approved it."""
        return any(s.outcome == "set" and s.to in COMMANDS for s in self.settings)

    @property
    def complete(self) -> bool:
        """Whether nothing was refused."""
        settings = any(setting.outcome == "refused" for setting in self.settings)
        return not (self.problems or settings or any(r.outcome == "refused" for r in self.rows))


def import_folder(
    project: Project, folder: Path, now: datetime, *, dry_run: bool = False
) -> ImportReport:
    """Imports from a `.autonomy/` folder, or from the folder above it.

    Raises:
        NotFound: there is none, or it holds nothing to import.
        LoopError: our own files can't be written.
    """
    report = ImportReport(_source(folder), dry_run)
    with one_import(project):
        _import_tasks(project, report, now)
        _import_settings(project, report)
        _import_log(project, report)
    with suppress(OSError):
        names = sorted(path.name for path in report.folder.iterdir())
        report.other_files = [name for name in names if name not in FILES]
    return report


def _source(folder: Path) -> Path:
    try:
        root = folder.expanduser().resolve(strict=True)
    except (OSError, RuntimeError):
        raise NotFound(f"no folder {folder}: name the .autonomy folder") from None
    for place in (root / ".autonomy", root):
        if any((place / name).is_file() for name in FILES):
            return place
    raise NotFound(f"{root} holds no {', '.join(FILES[:3])}: name the .autonomy folder")


def _object(report: ImportReport, name: str) -> dict[str, Any] | None:
    """The object in a file of the folder; None when there is none, or it was told of."""
    path = report.folder / name
    try:
        if not path.exists():
            return None
        if not path.is_file():
            raise BadInput("", "is not a file")
        if path.stat().st_size > _MAX_BYTES:
            raise BadInput("", f"is larger than {_MAX_BYTES // (1024 * 1024)} MB")
        return decode_object(path.read_bytes())
    except BadInput as error:
        report.problems.append(f"{name}: {error}")
    except OSError as error:
        report.problems.append(f"{name}: can't be read: {error.strerror}")
    return None


def _import_tasks(project: Project, report: ImportReport, now: datetime) -> None:
    data = _object(report, "feature_list.json")
    if data is None:
        return
    features = data.get("features")
    if not isinstance(features, list):
        report.problems.append("feature_list.json: features: give a list")
        return
    known = imported_ids(project)
    rows, read_in = _read_features(report, features, known, now)
    drafts, words = as_families(
        _with_commits(project, read_in),
        known,
        lambda task_id: takes_subtasks(project, task_id, now),
    )
    order, refused = in_order(drafts, known, rows)
    for old, why in refused.items():
        rows[old].outcome = "refused"
        rows[old].notes.append(why)
    taken = {*known, *(draft.old_id for draft in order)}
    accepted = [draft for old, draft in drafts.items() if old in taken]
    ids = {} if report.dry_run else take_in_drafts(project, accepted, known, now)
    for draft in order:
        row = rows[draft.old_id]
        row.task_id, row.state = ids.get(draft.old_id), draft.state
        row.notes += words.get(draft.old_id, [])
        lost = [old for old in draft.depends_on if old not in taken]
        if lost:
            row.notes.append(f"what it depended on is not here: {', '.join(lost)}")
        if draft.parent is not None and draft.parent not in taken:
            row.notes.append(f"its parent {draft.parent} is not in the list; it has none now")


def _with_commits(project: Project, drafts: dict[str, Draft]) -> dict[str, Draft]:
    """The drafts, those that have ended with the commits that name them."""
    ended = {old: draft for old, draft in drafts.items() if draft.state != "queued"}
    commits = commits_by_feature(project.root) if ended else {}
    return drafts | {
        old: replace(draft, commits=commits[old]) for old, draft in ended.items() if old in commits
    }


def _read_features(
    report: ImportReport, features: list[Any], known: dict[str, str], now: datetime
) -> tuple[dict[str, Row], dict[str, Draft]]:
    rows: dict[str, Row] = {}
    drafts: dict[str, Draft] = {}
    left_out: Counter[str] = Counter()
    priorities = _priorities(features)
    for place, feature in enumerate(features, 1):
        try:
            old = feature_id(feature)
            if old in rows:
                raise BadInput("id", f"{old} stands at an earlier entry too")
        except BadInput as error:
            report.rows.append(Row(f"entry {place}", "refused", notes=[str(error)]))
            continue
        title = str(feature.get("title") or feature.get("description") or "")
        rows[old] = row = Row(old, "skipped", title, known.get(old))
        report.rows.append(row)
        if old in known:
            row.notes.append("imported before")
            continue
        try:
            drafts[old], row.notes = draft_of(feature, priorities[old], now)
            row.outcome = "imported"
            left_out.update(unmapped(feature))
        except BadInput as error:
            row.outcome = "refused"
            row.notes.append(str(error))
    report.left_out = dict(sorted(left_out.items()))
    return rows, drafts


def _priorities(features: list[Any]) -> dict[str, int]:
    """Of each feature its own, else that of its parent, else its place in the list."""
    places: dict[str, tuple[int, dict[str, Any]]] = {}
    for place, feature in enumerate(features, 1):
        old = feature.get("id") if isinstance(feature, dict) else None
        if isinstance(old, str):
            places.setdefault(old, (place, feature))
    found: dict[str, int] = {}
    for first in places:
        chain: list[str] = []
        old = first
        while old in places and old not in found and old not in chain:
            chain.append(old)
            own, parent = (places[old][1].get(name) for name in ("priority", "parent_id"))
            old = parent if isinstance(parent, str) and type(own) is not int else ""
        for below in reversed(chain):
            place, feature = places[below]
            own = feature.get("priority")
            above = found.get(str(feature.get("parent_id")), place)
            found[below] = own if type(own) is int else above
    return found


def _import_settings(project: Project, report: ImportReport) -> None:
    data = _object(report, "config.json")
    if data is None:
        return
    try:
        text = (read(project.config) or b"{}\n").decode("utf-8-sig")
        new, report.settings = imported_config.merged(text if text.strip() else "{}\n", data)
    except (BadInput, UnicodeDecodeError) as error:
        report.problems.append(f"config.json was left out: .ai/config.json: {error}; mend it first")
        return
    if new != text and not report.dry_run and any(s.outcome == "set" for s in report.settings):
        with transition(project) as t:
            t.put(project.config, new.encode())


def _import_log(project: Project, report: ImportReport) -> None:
    entries = []
    for name in ("progress.archive.txt", "progress.txt"):
        try:
            path = report.folder / name
            if path.exists() and not path.is_file():
                raise BadInput("", "is not a file")
            data = read_end(path, _MAX_LOG_BYTES)
            if b"\0" in data:
                raise BadInput("", "is no text")
        except BadInput as error:
            report.problems.append(f"{name}: {error}")
            continue
        except OSError as error:
            report.problems.append(f"{name}: can't be read: {error.strerror}")
            continue
        entries += _entries(data.decode(errors="replace"))
    if not entries:
        return
    logs = [progress.archive_of(project), project.progress]
    away = [folder / "logs" / log.name for folder in archives(project) for log in logs]
    there = {
        tuple(entry)
        for path in (*away, *logs)
        for entry in _entries((read(path) or b"").decode(errors="replace"))
    }
    new = [entry for entry in dict.fromkeys(map(tuple, entries)) if entry not in there]
    report.log_entries = len(new)
    if new and not report.dry_run:
        with transition(project) as t:
            progress.append_entries(t, new, _max_lines(project))


def _entries(text: str) -> list[list[str]]:
    """The entries of a log, cleaned alike on both sides; without any `===` it is one entry."""
    if not any(map(progress.is_separator, text.splitlines())):
        text = f"{progress.SEPARATOR}\n{text}"
    cleaned = [
        [line for raw in entry if (line := progress.one_line(raw))]
        for entry in progress.entries_in(text)
    ]
    return [entry for entry in cleaned if entry]


def _max_lines(project: Project) -> int:
    try:
        return load_config(project).progress.max_lines
    except NotReady:
        return Config().progress.max_lines
