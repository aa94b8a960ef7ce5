"""`loop init`: makes a folder a project of ours. Idempotent, and harms nothing that is there.

Owns: the order of the steps, and what is refused before the first. Does not own: each part.

Invariants: what can be found out beforehand is refused before anything is written. Nothing of the
person's is lost: their files get a marked block, or are left alone. Nothing goes into `.claude/`.
A second run changes nothing and says so. Running it is the approval of the Builder's rules.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from loop.builder.permissions import approve, approved_command_file, approved_file
from loop.errors import LoopError, NotFound, NotReady
from loop.git.command import Repository, repository_of
from loop.setup import desktop_entry, foreign_file, project_texts
from loop.setup.builder_rules import current_rules, hook_command, new_rules
from loop.setup.desktop import server_name
from loop.setup.instructions import project_instructions
from loop.setup.interpreter import warning_about
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
) -> InitReport:
    """Sets the folder up as a project, or brings one up to date.

    `python` is the interpreter that Claude Desktop and the hooks call; `now` dates the first entry
    of a new README.md; without `desktop` the configuration of Claude Desktop is left alone.

    Raises: LoopError if the folder can't be a project, or a file in it can't be understood or
    written.
    """
    project = _project_for(folder, env, platform)
    commit_prefix = load_config(project).commit_prefix
    came_from = remembered_root(project)
    hook = hook_command(python, platform)
    rules = _rules(project, hook, came_from)

    steps = [_make_folders(project), _write_if_absent(project.config, b"{}\n", "settings")]
    steps += [_remember(project), _write_rules(project, rules, python, env), _approve(project)]
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


def _approve(project: Project) -> Step:
    target, beside = approved_file(project), approved_command_file(project)
    before = read(target), read(beside)
    try:
        approve(project)
    except OSError as error:
        raise cannot_write(target, error) from None
    now = read(target), read(beside)
    if before == now:
        return Step("approved rules", str(target), "unchanged")
    note = (
        "running `loop init` approves the rules as they stand in .ai/builder.settings.json: the "
        "Builder gets this copy"
    )
    if now[1] not in (None, before[1]):
        note += "; approved, too: builder.command, builder.extra_args and verify in .ai/config.json"
    return Step("approved rules", str(target), "created" if before[0] is None else "updated", note)


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
