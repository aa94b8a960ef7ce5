"""Where everything of a project lies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from loop.core.task_id import stem
from loop.errors import NotFound


@dataclass(frozen=True, slots=True)
class Project:
    """A project folder; `root` is absolute, with symbolic links resolved."""

    root: Path

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.root.name or str(self.root)

    @property
    def ai(self) -> Path:
        """The folder that holds all of ours."""
        return self.root / ".ai"

    @property
    def queue(self) -> Path:
        """Tasks that wait."""
        return self.ai / "queue"

    @property
    def running(self) -> Path:
        """The task that runs, and the small files of its run."""
        return self.ai / "running"

    @property
    def completed(self) -> Path:
        """Results."""
        return self.ai / "completed"

    @property
    def archive(self) -> Path:
        """What a reset put out of sight, one folder a reset."""
        return self.ai / "archive"

    @property
    def invalid(self) -> Path:
        """Files that can't be tasks, each beside NAME.reason."""
        return self.ai / "invalid"

    @property
    def state(self) -> Path:
        """Counter, locks and other files that only the program reads."""
        return self.ai / "state"

    @property
    def logs(self) -> Path:
        """Raw streams of the runs, and the timeline."""
        return self.ai / "logs"

    @property
    def timeline(self) -> Path:
        """The timeline, one event a line."""
        return self.logs / "pipeline.jsonl"

    @property
    def config(self) -> Path:
        """The settings."""
        return self.ai / "config.json"

    @property
    def builder_settings(self) -> Path:
        """The Builder's permissions and hooks, as they are proposed in the project."""
        return self.ai / "builder.settings.json"

    @property
    def paused(self) -> Path:
        """Present while the queue is paused."""
        return self.ai / "paused.json"

    @property
    def shift(self) -> Path:
        """Present while the queue is bound to an interactive session."""
        return self.ai / "shift.json"

    @property
    def shift_lock(self) -> Path:
        """Held while a hook ends the task at hand of the shift."""
        return self.state / "shift.lock"

    @property
    def progress(self) -> Path:
        """The handoff log."""
        return self.logs / "progress.txt"

    @property
    def worker_lock(self) -> Path:
        """Held by the process that has runs executed."""
        return self.state / "worker.lock"

    @property
    def state_lock(self) -> Path:
        """Held for the moment of a transition."""
        return self.state / "state.lock"

    @property
    def slot_lock(self) -> Path:
        """The run slot: while it is held, nothing is claimed."""
        return self.state / "slot.lock"

    @property
    def notified(self) -> Path:
        """How far each service has been told; made when it is needed."""
        return self.state / "notified"

    def folders(self) -> tuple[Path, ...]:
        """Every folder that must be there."""
        return (
            self.queue, self.running, self.completed, self.invalid, self.state,
            self.state / "sent", self.logs, self.ai / "roles",
        )  # fmt: skip

    def task_file(self, folder: Path, task_id: str) -> Path:
        """The file of a task in one of the folders; `task_id` must have been checked."""
        return folder / f"{stem(task_id)}.json"

    def run_file(self, task_id: str, suffix: str) -> Path:
        """A small file of the run: prompt, launch, report, exit, guard, cancel."""
        return self.running / f"{stem(task_id)}.{suffix}"

    def log(self, task_id: str) -> Path:
        """The raw stream of all runs of a task."""
        return self.logs / f"{stem(task_id)}.log"

    def err(self, task_id: str) -> Path:
        """What the runs of a task wrote to stderr."""
        return self.logs / f"{stem(task_id)}.err"


def project_at(folder: Path) -> Project:
    """The project in a folder, which must have been set up.

    Raises:
        NotFound: there is no such folder, or it has no `.ai`.
    """
    try:
        root = folder.expanduser().resolve(strict=True)
    except (OSError, RuntimeError):
        raise NotFound(f"no folder {folder}: give the project's folder with --project") from None
    if not root.is_dir():
        raise NotFound(f"{root} is not a folder: give the project's folder with --project")
    if not (root / ".ai").is_dir():
        raise NotFound(f"{root} has no .ai folder: run `loop init {root}` first")
    return Project(root)


def project_above(folder: Path) -> Project:
    """The nearest project at or above a folder.

    Raises:
        NotFound: none is set up.
    """
    here = folder.resolve()
    for place in (here, *here.parents):
        if (place / ".ai").is_dir():
            return Project(place)
    raise NotFound(
        f"no project at or above {here}: run `loop init` in its folder, or use --project"
    )
