"""`loop init`: makes a folder a project of ours. Idempotent, and harms nothing that is there.

Owns: the order of the steps, and what is refused before the first. Does not own: each part.

Invariants: what can be found out beforehand is refused before anything is written. Nothing of the
person's is lost: their files get a marked block, or are left alone. Nothing goes into `.claude/`.
A second run changes nothing and says so. The first run approves the Builder's rules; a later one
approves our own hooks at their new place and what a preset names, and nothing else that asks for
more: that is for `loop allow --review`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from loop.builder.permissions import (
    approve,
    approved_command_file,
    approved_file,
    asked_command,
    carry_over,
    command_changes,
    keep,
    request_of,
)
from loop.builder.pinned import file_changes
from loop.core.rule_set import Change, changes
from loop.core.task import decode_object
from loop.errors import BadInput, LoopError, NotFound, NotReady
from loop.git.command import Repository, repository_of
from loop.setup import desktop_entry, foreign_file, plugin, project_texts
from loop.setup.allow import add_rules
from loop.setup.builder_rules import current_rules, hook_command, new_rules
from loop.setup.desktop import server_name
from loop.setup.instructions import project_instructions
from loop.setup.interpreter import warning_about
from loop.setup.presets import preset_rules
from loop.setup.step import Outcome, Step
from loop.store.files import cannot_write, read, replace
from loop.store.identity import remember_root, remembered_root
from loop.store.paths import Project
from loop.store.project_files import load_config

__all__ = ["InitReport", "Step", "initialise"]


@dataclass(frozen=True)
class InitReport:
    """What `initialise` did."""

    project: Project
    #: the name of the server in Claude Desktop; None when it is not registered there
    server: str | None
    steps: list[Step]
    #: the Project Instructions, to paste
    instructions: str

    @property
    def is_new(self) -> bool:
        """Whether the project, or its server in Claude Desktop, was not there before."""
        made = {step.what for step in self.steps if step.outcome in ("created", "updated")}
        return desktop_entry.WHAT in made or any(
            step.what == "folders" and step.outcome == "created" for step in self.steps
        )


def initialise(
    folder: Path,
    *,
    env: Mapping[str, str],
    python: Path,
    now: datetime,
    platform: str = sys.platform,
    desktop: bool = True,
    with_plugin: bool = False,
    presets: Sequence[str] = (),
) -> InitReport:
    """Sets the folder up as a project, or brings one up to date.

    `python` is the interpreter that Claude Desktop and the hooks call; `now` dates the first entry
    of a new README.md; without `desktop` the configuration of Claude Desktop is left alone;
    `with_plugin` has Claude Code load our plugin; the rules of `presets` are allowed and approved.

    Raises: LoopError if the folder can't be a project, or a file in it can't be understood or
    written.
    """
    project = _project_for(folder, env, platform)
    commit_prefix = load_config(project).commit_prefix
    came_from = remembered_root(project)
    hook = hook_command(python, platform)
    rules = _rules(project, hook, came_from)

    steps = [_make_folders(project), _write_if_absent(project.config, b"{}\n", "settings")]
    steps += [_remember(project), _write_rules(project, rules, python, env)]
    steps.append(_approve(project, hook, came_from))
    if presets:
        steps.append(_allow_presets(project, presets))
    steps.append(project_texts.put_claude_md(project, commit_prefix))
    steps.append(project_texts.put_readme(project, now))
    repository, git_step = _repository(project)
    steps += [project_texts.put_ignore_lines(project, repository), git_step]
    server = None
    if desktop:
        server, step = desktop_entry.put_in(
            project, python, env=env, platform=platform, now=now, moved_from=came_from
        )
        steps.append(step)
    if with_plugin:
        steps.append(plugin.put_in(project, python, env=env, platform=platform))
    name = server or server_name(project.root, {})
    return InitReport(project, server, steps, project_instructions(project, name))


def _project_for(folder: Path, env: Mapping[str, str], platform: str) -> Project:
    try:
        root = folder.expanduser().resolve(strict=True)
    except (OSError, RuntimeError):
        raise NotFound(f"no folder {folder}: make it first, or name another") from None
    if not root.is_dir():
        raise NotFound(f"{root} is not a folder: name the project's folder")
    if root in (Path(root.anchor), desktop_entry.home_of(env, platform).resolve()):
        raise LoopError(f"{root} is too much for one project: name a folder inside it")
    project = Project(root)
    for place in (project.ai, *project.folders()):
        if place.is_symlink():
            raise LoopError(
                f"{place} is a link to {place.resolve()}: two projects can't share it; remove the "
                "link and try again"
            )
        if place.exists() and not place.is_dir():
            raise LoopError(f"{place} is a file, not a folder: rename it and try again")
    return project


def _rules(project: Project, hook: str, came_from: Path | None) -> bytes:
    content = foreign_file.read(project.builder_settings)
    if content is None:
        return new_rules(project.root, hook)
    return current_rules(content, project.root, hook, moved_from=came_from)


def _make_folders(project: Project) -> Step:
    there = project.ai.exists()
    made = False
    for folder in project.folders():
        if not folder.is_dir():
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise cannot_write(folder, error) from None
            made = True
    outcome: Outcome = "unchanged" if not made else "updated" if there else "created"
    return Step("folders", str(project.ai), outcome)


def _write_if_absent(path: Path, content: bytes, what: str) -> Step:
    if path.exists():
        return Step(what, str(path), "unchanged")
    replace(path, content)
    return Step(what, str(path), "created")


def _remember(project: Project) -> Step:
    before = remembered_root(project)
    where = str(project.state / "project.json")
    changed = remember_root(project)
    if before is None:
        return Step("place", where, "created")
    if not changed:
        return Step("place", where, "unchanged")
    moved = f"set up for {before} before, now for {project.root}"
    return Step("place", where, "updated", moved if before != project.root else None)


def _write_rules(project: Project, rules: bytes, python: Path, env: Mapping[str, str]) -> Step:
    path = project.builder_settings
    before = read(path)
    if before != rules:
        replace(path, rules)
    outcome: Outcome = (
        "created" if before is None else "unchanged" if before == rules else "updated"
    )
    warning = warning_about(python, project.root, env)
    return Step("Builder's rules", str(path), outcome, warning)


def _approve(project: Project, hook: str, came_from: Path | None) -> Step:
    target = approved_file(project)
    before = read(target)
    earlier = before
    if earlier is None and came_from is not None:
        earlier = read(approved_file(Project(came_from)))
    waits = None if earlier is None else _what_waits(project, earlier, hook, came_from)
    try:
        if waits:
            if before is None and earlier is not None and came_from is not None:
                # So that the review has something to compare with at the new place.
                moved = current_rules(earlier, project.root, hook, moved_from=came_from)
                carry_over(Project(came_from), project, moved)
            note = f"not approved, since it asks for more than before: {waits}; look at it with "
            return Step("approved rules", str(target), "kept", note + "`loop allow --review`")
        rules = read(project.builder_settings) or b""
        # Of the files beside the rules only a first approval is one: nobody looked at them here.
        if before is not None:
            keep(project, rules)
        elif earlier is not None and came_from is not None:
            carry_over(Project(came_from), project, rules)
        else:
            approve(project)
    except OSError as error:
        raise cannot_write(target, error) from None
    if before == read(target):
        return Step("approved rules", str(target), "unchanged")
    note = "this copy of .ai/builder.settings.json is what the Builder gets"
    return Step(
        "approved rules",
        str(target),
        "created" if before is None else "updated",
        note + (_beyond_ours(project, hook) if earlier is None else ""),
    )


def _what_waits(project: Project, earlier: bytes, hook: str, came_from: Path | None) -> str | None:
    """What asks for more than was approved earlier, our hooks at their new place left out."""
    try:
        ours = decode_object(current_rules(earlier, project.root, hook, moved_from=came_from))
        asked = decode_object(read(project.builder_settings) or b"")
    except (BadInput, LoopError) as problem:
        return str(problem)
    kept = read(approved_command_file(project))
    if kept is None and came_from is not None:
        kept = read(approved_command_file(Project(came_from)))
    commands = command_changes(asked_command(load_config(project)), kept)
    named = [f"{change.where} {change.what}" for change in commands if change.more]
    return _shown(named + _more(changes(asked, ours)))


def _beyond_ours(project: Project, hook: str) -> str:
    """What a first approval holds beyond rules of our own making; empty for nothing."""
    request = request_of(project)
    asked = decode_object(request.rules or b"")
    more = _more(changes(asked, decode_object(new_rules(project.root, hook))))
    files = [change.path for change in file_changes(request.files, {})]
    commands = [f"{c.where} {c.what}" for c in command_changes(request.command, None)]
    # Whole: nobody has seen it before, and nobody will be asked.
    shown = ", ".join([*commands, *files, *more])
    return f"; approved with it, beyond our own rules: {shown}" if shown else ""


def _more(found: list[Change]) -> list[str]:
    more = [change for change in found if change.more]
    added = [change.what for change in more if change.added]
    return added + [f"without {change.what}" for change in more if not change.added]


def _shown(what: list[str]) -> str | None:
    if not what:
        return None
    cut = [text if len(text) <= 80 else f"{text[:79]}…" for text in what[:4]]
    return ", ".join(cut) + (f" and {len(what) - 4} more" if what[4:] else "")


def _allow_presets(project: Project, presets: Sequence[str]) -> Step:
    done = add_rules(project, preset_rules(presets))
    where = str(project.builder_settings)
    if not done.added:
        return Step("presets", where, "unchanged")
    return Step("presets", where, "updated", "allowed and approved: " + ", ".join(done.added))


def _repository(project: Project) -> tuple[Repository | None, Step]:
    where = str(project.root)
    try:
        repository = repository_of(project.root)
    except NotReady as problem:
        return None, Step("git", where, "skipped", str(problem))
    if repository is None:
        note = "no git repository: what the Builder does can't be undone; run `git init`"
        return None, Step("git", where, "skipped", note)
    return repository, Step("git", str(repository.top), "unchanged")
