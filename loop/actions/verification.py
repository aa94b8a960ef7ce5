"""Whether what a run left still passes the project's checks.

The project's own commands fail a run only when they passed before it ("red after green"): the last
verification of the same tree says so, else one that is made before the run. The acceptance commands
of a task must pass after it, whatever they did before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loop.builder.verify import Checked, run_checks
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
        how = "took too long" if self.checked.exit is None else f"exit {self.checked.exit}"
        return f"`{self.checked.command}` failed ({how}):\n{self.checked.tail}".strip()


def commands_of(config: Config) -> list[str]:
    """The project's own commands, the quick one first."""
    return [c for c in (config.verify.lint_command, config.verify.test_command) if c]


def make_baseline(
    project: Project, repository: Repository, task: Task, config: Config, env: Mapping[str, str]
) -> None:
    """Verifies the files as they are before a run, unless that is known already."""
    commands = commands_of(config)
    run = task.runs[-1]
    if not commands or run.before is None:
        return
    tree = repository.git.text("rev-parse", f"{run.before}^{{tree}}")
    if set(commands) <= verified.passed_on(project, tree).keys():
        return
    passed = {}
    for command in commands:
        (checked,) = run_checks([command], project.root, env, run.uuid, config.verify.timeout_s)
        passed[command] = checked.passed
    verified.remember(project, tree, passed)


def verify(
    project: Project,
    repository: Repository | None,
    task: Task,
    after: str | None,
    config: Config,
    env: Mapping[str, str],
) -> Verdict | None:
    """Runs all checks on what the run left; None when there are none.

    `after` is the snapshot after the run. The first check that fails the run is the verdict, else
    the first that fails at all, else the last.
    """
    run = task.runs[-1]
    before_tree = after_tree = None
    if repository is not None and run.before is not None and after is not None:
        before_tree = repository.git.text("rev-parse", f"{run.before}^{{tree}}")
        after_tree = repository.git.text("rev-parse", f"{after}^{{tree}}")
    known = verified.passed_on(project, before_tree) if before_tree else {}
    verdicts, passed = [], {}
    for command in commands_of(config):
        (checked,) = run_checks([command], project.root, env, run.uuid, config.verify.timeout_s)
        passed[command] = checked.passed
        baseline = {True: "passed", False: "failed", None: "unknown"}[known.get(command)]
        verdicts.append(Verdict(checked, baseline, not checked.passed and baseline == "passed"))
    if after_tree and passed:
        verified.remember(project, after_tree, passed)
    accepted = run_checks(task.acceptance, project.root, env, run.uuid, config.verify.timeout_s)
    verdicts += [Verdict(checked, "none", not checked.passed) for checked in accepted]
    failing = [v for v in verdicts if v.failed] or [v for v in verdicts if not v.checked.passed]
    chosen = failing or verdicts[-1:]
    return chosen[0] if chosen else None
