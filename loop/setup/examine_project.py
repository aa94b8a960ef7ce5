"""What `doctor` looks at in the project's folder: ours, its texts, its disk, its queue."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from loop.actions.notify import posts_of
from loop.builder.session import is_alive
from loop.core.config import Config
from loop.errors import LoopError, NotReady
from loop.git.command import Repository, repository_of
from loop.notify.apprise_url import HOW_TO_INSTALL, MISSING, is_installed
from loop.setup import foreign_file
from loop.setup.blocks import HTML, contains
from loop.setup.finding import Finding, error, good, note, warning
from loop.setup.project_texts import is_ignored
from loop.store.drive import network_drive
from loop.store.identity import root_mismatch
from loop.store.notified import last_failure
from loop.store.paths import Project
from loop.store.project_files import load_config, read_owner, read_pause
from loop.store.shift import living

INIT = "run `loop init`"
_RECENT_CHANGES = re.compile(r"^## +Recent Changes\s*$", re.MULTILINE | re.IGNORECASE)


def folders(project: Project) -> Finding:
    """Whether all of ours is there and can be written."""
    for folder in project.folders():
        where = folder.relative_to(project.root).as_posix()
        if not folder.is_dir():
            return error(f"the folder {where} is missing", INIT)
        if not os.access(folder, os.W_OK | os.X_OK):
            return error(
                f"the folder {where} can't be written",
                f"make {folder} writable for you; on macOS allow the app under Privacy & Security",
            )
    return good(f"project {project.root}, its folders are there and can be written")


def place(project: Project) -> Iterator[Finding]:
    """Whether `.ai/` was set up for this folder, on a disk of this machine."""
    other = root_mismatch(project)
    if other is not None:
        yield error(
            f"this .ai folder was set up for {other}: the project was copied or moved here",
            "run `loop init` to make this one a project of its own",
        )
    kind = network_drive(project.root)
    if kind is not None:
        yield error(
            f"the project lies on a network drive ({kind}), where locks can't be relied on",
            "keep it on a disk of this machine",
        )


def settings(project: Project) -> tuple[Config, Finding]:
    """The settings, or the defaults when they are wrong."""
    try:
        return load_config(project), good("settings in .ai/config.json are valid")
    except NotReady as problem:
        return Config(), error(str(problem), "correct that key in .ai/config.json")


def repository(project: Project) -> tuple[Repository | None, Finding]:
    """Git, and whether the project is in a repository."""
    try:
        found = repository_of(project.root)
    except NotReady as problem:
        return None, error(str(problem), "install git and put it on PATH")
    if found is None:
        return None, warning(
            "the project is in no git repository: what the Builder does can't be undone",
            f"run `git init` in {project.root}",
        )
    return found, good(f"git repository {found.top}")


def texts(project: Project, repository: Repository | None) -> Iterator[Finding]:
    """CLAUDE.md, README.md and what git ignores."""
    try:
        text = _text(project.root / "CLAUDE.md")
        if contains(text, HTML, "CLAUDE.md"):
            yield good("CLAUDE.md has our block")
        else:
            yield warning("CLAUDE.md does not say how to work here: our block is missing", INIT)
    except LoopError as problem:
        yield error(str(problem), "mend CLAUDE.md by hand")
    if repository is not None and not is_ignored(".ai/queue/0001.json", repository):
        yield warning("git does not ignore the working files in .ai/", INIT)
    readme = [p for p in project.root.iterdir() if p.name.lower() == "readme.md"]
    if not readme:
        yield note("there is no README.md: recent changes are not listed", INIT)
    elif not _RECENT_CHANGES.search(_text(readme[0])):
        yield note(f"{readme[0].name} has no `## Recent Changes`", "add that heading")


def events(project: Project) -> Finding:
    """Whether new files are told of by the system, or found by the clock only."""
    from loop.service.watcher import no_events_in

    owner = read_owner(project)
    why = owner.no_events if owner is not None else None
    why = why or (no_events_in(project.state) if project.state.is_dir() else None)
    if why is None:
        return good("the system tells of new files at once")
    return warning(
        f"no events of the file system ({why}): new files are found by the clock, "
        "every scan_seconds",
        "free what is used up, or keep the project on a disk of this machine",
    )


def notifications(project: Project, config: Config, env: Mapping[str, str]) -> Iterator[Finding]:
    """Who is told of what happens, and whether the last of it arrived."""
    posts = posts_of(config, env)
    if posts:
        yield good(f"notifications go to {', '.join(posts)}")
    if config.notify.urls and not is_installed():
        yield warning(f"notify.urls is set, but {MISSING}", HOW_TO_INSTALL)
    failed = last_failure(project)
    if failed is not None:
        yield warning(
            f"the last notification by {failed.get('service')} failed: {failed.get('reason')}",
            "correct notify in .ai/config.json, then run `loop test-notify`",
        )


def queue(project: Project) -> Iterator[Finding]:
    """Who works, whether anything is paused, and what can't be a task."""
    owner, shift = read_owner(project), living(project, is_alive)
    if shift is not None:
        yield good(f"a session works the queue (process {shift.pid})")
    elif owner is None:
        yield note("nobody works the queue", "start Claude Desktop, or run `loop work`")
    elif not owner.pid:
        yield note("a process works the queue, but does not say which")
    else:
        since = f"{owner.since.astimezone():%Y-%m-%d %H:%M}"
        yield good(f"process {owner.pid} on {owner.host} works the queue since {since}")
    pause = read_pause(project)
    if pause is not None:
        until = f" until {pause.until.astimezone():%Y-%m-%d %H:%M}" if pause.until else ""
        by_itself = pause.by == "worker" and pause.until is None
        yield error(
            f"the queue is paused by the {pause.by}{until}: {pause.reason}",
            "mend that, and it goes on by itself" if by_itself else "run `loop resume`",
        )
    misfits = _invalid(project)
    if misfits:
        names = ", ".join(misfits[:3]) + (", ..." if len(misfits) > 3 else "")
        yield warning(
            f"{len(misfits)} file(s) in .ai/invalid can't be tasks: {names}",
            "read NAME.reason beside each, mend it and put it back into .ai/queue, or remove it",
        )


def _text(path: Path) -> str:
    return (foreign_file.read(path) or b"").decode(errors="replace")


def _invalid(project: Project) -> list[str]:
    try:
        return sorted(p.name for p in project.invalid.iterdir()
                      if p.suffix != ".reason" and not p.name.startswith("."))  # fmt: skip
    except FileNotFoundError:
        return []
