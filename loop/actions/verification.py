"""Whether what a run left still passes the project's checks.

The project's own commands fail a run only when they passed before it ("red after green"): the last
verification of the same tree says so, else one that is made before the run. A further run after a
failed verification has to mend what was broken, so it is measured by what was before. The
acceptance commands of a task must pass after it, whatever they did before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from loop.builder.verify import Checked, end_bearers, run_checks
from loop.core.config import Config
from loop.core.task import Task
from loop.git.command import Repository
from loop.store import verified
from loop.store.paths import Project


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the verification of a run came to."""

    checked: Checked
    #: `passed`, `failed`, `unknown` before the run; `none` for an acceptance command
    baseline: str
    #: the run fails by it
    failed: bool

    def data(self) -> dict[str, Any]:
        """As it stands in the result."""
        c = self.checked
        return {"command": c.command, "exit": c.exit, "tail": c.tail, "baseline": self.baseline}

    @property
    def words(self) -> str:
        """In one sentence and the output's end, for the next run and the Architect."""
        return f"{self._failed}:\n{self.checked.tail}".strip()

    @property
    def warning(self) -> str | None:
        """What to say when it fails without failing the run; None when it passed."""
        if self.failed or self.checked.passed:
            return None
        before = {"failed": "as it did before the run"}.get(self.baseline)
        return f"{self._failed}, {before or 'and nobody knows whether it passed before the run'}"

    @property
    def _failed(self) -> str:
        how = "took too long" if self.checked.exit is None else f"exit {self.checked.exit}"
        return f"`{self.checked.command}` failed ({how})"


@dataclass(frozen=True, slots=True)
class Verification:
    """All checks after a run."""

    verdicts: tuple[Verdict, ...] = ()
    #: it was broken off since the task was cancelled
    stopped: bool = False
    #: files were changed after it
    changed_since: bool = False

    @property
    def verdict(self) -> Verdict | None:
        """The one that counts: the first that fails the run, else that fails, else the last."""
        failing = [v for v in self.verdicts if v.failed]
        failing = failing or [v for v in self.verdicts if not v.checked.passed]
        return next(iter(failing or self.verdicts[-1:]), None)

    @property
    def warnings(self) -> list[str]:
        """About checks that fail without failing the run."""
        found = [v.warning for v in self.verdicts if v.warning is not None]
        if self.changed_since:
            found.append("files were changed after they had been checked")
        return found


def commands_of(config: Config) -> list[str]:
    """The project's own commands, the quick one first."""
    return [c for c in (config.verify.lint_command, config.verify.test_command) if c]


def unknown_before(
    project: Project, repository: Repository | None, task: Task, config: Config
) -> list[str]:
    """The project's own commands of which nobody knows how they went before the run."""
    commands = commands_of(config)
    known = _known_before(project, repository, task) if commands else {}
    return [command for command in commands if command not in known]


def make_baseline(
    project: Project,
    repository: Repository | None,
    task: Task,
    config: Config,
    env: Mapping[str, str],
    unwanted: Callable[[], bool],
) -> dict[str, bool]:
    """Verifies the files as they are before a run, unless that is known already.

    Which commands passed; nothing when nothing was run, or it was broken off.
    """
    run = task.runs[-1]
    missing = unknown_before(project, repository, task, config)
    if not missing:
        return {}
    known = _known_before(project, repository, task)
    end_bearers(run.uuid)  # what a worker that died in the middle of this had started
    passed: dict[str, bool] = {}
    for command in missing:
        (checked,) = run_checks(
            [command], project.root, env, run.uuid, config.verify.timeout_s, unwanted
        )
        if checked.stopped:
            return {}
        passed[command] = checked.passed
    return known | passed


def remember(
    project: Project, repository: Repository | None, task: Task, passed: dict[str, bool],
    *snapshots: str | None,
) -> None:  # fmt: skip
    """Notes how the checks went on the files of some snapshots."""
    uuid = task.runs[-1].uuid
    verified.remember(project, [_key(repository, s, uuid) for s in snapshots], passed)


def _known_before(project: Project, repository: Repository | None, task: Task) -> dict[str, bool]:
    """What passed before the run; before the first one since the task broke it, if it did."""
    run = task.runs[-1]
    for earlier in reversed(task.runs[:-1]):
        if earlier.status == "success":
            break
        if earlier.reason == "verification_failed":
            run = earlier
    return verified.passed_on(project, _key(repository, run.before, run.uuid))


def _key(repository: Repository | None, snapshot: str | None, run_uuid: str) -> str:
    """What the files are known by: their tree; without one, the run alone that finds them so."""
    tree = None
    if repository is not None and snapshot is not None:
        tree = repository.git.maybe("rev-parse", "--verify", f"{snapshot}^{{tree}}")
    return tree or f"run {run_uuid}"


def verify(
    project: Project,
    repository: Repository | None,
    task: Task,
    after: str | None,
    config: Config,
    env: Mapping[str, str],
    unwanted: Callable[[], bool],
) -> Verification:
    """Runs all checks on what the run left; `after` is the snapshot of that."""
    run = task.runs[-1]
    known = _known_before(project, repository, task)
    verdicts: list[Verdict] = []
    passed = {}
    checks = [(c, True) for c in commands_of(config)] + [(c, False) for c in task.acceptance]
    for command, is_own in checks:
        (checked,) = run_checks(
            [command], project.root, env, run.uuid, config.verify.timeout_s, unwanted
        )
        if checked.stopped:
            return Verification(tuple(verdicts), stopped=True)
        if is_own:
            passed[command] = checked.passed
            baseline = {True: "passed", False: "failed", None: "unknown"}[known.get(command)]
            failed = not checked.passed and baseline == "passed"
            verdicts.append(Verdict(checked, baseline, failed))
        else:
            verdicts.append(Verdict(checked, "none", not checked.passed))
            if not checked.passed:
                break
    if after is not None and passed:
        remember(project, repository, task, passed, after)
    return Verification(tuple(verdicts))
