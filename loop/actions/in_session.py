"""What is particular about the end of a run that an interactive session did.

Its checks were run when the session gave its report, so here they are only read.
"""

from __future__ import annotations

from typing import Any

from loop.actions.verification import Verdict, Verification
from loop.builder.verify import Checked
from loop.core.task import Task, encode
from loop.git.command import Repository
from loop.store.files import read, replace
from loop.store.paths import Project
from loop.store.run_files import cancel_reason
from loop.store.run_report import RunReport, read_report


def checked_in_session(
    project: Project, repository: Repository | None, task: Task, after: str | None
) -> Verification:
    """What the checks said when the session reported; one that failed does not fail the run.

    A report whose checks failed the task was not accepted, so there is none here. `after` is the
    snapshot of what was left: where it differs from what was checked, that is a warning.
    """
    said = read_report(project, task)
    if said is None or not said.checks:
        return Verification()
    changed = changed_since(repository, said, after)
    return Verification(tuple(map(_verdict, said.checks)), changed_since=changed)


def changed_since(repository: Repository | None, said: RunReport, after: str | None) -> bool:
    """Whether the files of a snapshot are others than those that a report's checks have seen."""
    return _tree(repository, said.checked) != _tree(repository, after)


def verdict_data(verdict: Verdict) -> dict[str, Any]:
    """A verdict as it stands in a session's report."""
    return verdict.data() | {"failed": verdict.failed}


def _verdict(data: dict[str, Any]) -> Verdict:
    code = data.get("exit")
    checked = Checked(
        str(data.get("command")), code if isinstance(code, int) else None, str(data.get("tail", ""))
    )
    return Verdict(checked, str(data.get("baseline")), data.get("failed") is True)


def _tree(repository: Repository | None, snapshot: str | None) -> str | None:
    if repository is None or snapshot is None:
        return None
    return repository.git.maybe("rev-parse", "--verify", f"{snapshot}^{{tree}}")


def end_in_session(
    project: Project, task: Task, ended_by: str | None, api_error: dict[str, str] | None = None
) -> None:
    """Writes the exit file of a session's run; what was asked of it counts more than `ended_by`.

    `api_error` is the {error, text} by which Claude Code ended the turn; None when it did not.

    Raises:
        LoopError: the disk does not take it.
    """
    asked = cancel_reason(project, task.id)
    ending: dict[str, Any] = {"run": task.runs[-1].uuid, "exit": None}
    ending |= {"ended_by": asked or ended_by}
    ending |= {"api_error": api_error} if api_error else {}
    replace(project.run_file(task.id, "exit"), encode(ending))


def says_its_end(project: Project, task: Task) -> bool:
    """Whether it is on record how a session's run ended: by its exit file, or its report alone."""
    if task.runs[-1].uuid.encode() in (read(project.run_file(task.id, "exit")) or b""):
        return True
    return cancel_reason(project, task.id) is None and read_report(project, task) is not None
