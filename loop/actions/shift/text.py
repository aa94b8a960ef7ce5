"""What the session of a shift is told: a task with how to end it, and why the shift is over."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from loop.actions.before import left_words
from loop.actions.context import prompt_context
from loop.builder.role import role_text
from loop.core.config import Config
from loop.core.graph import Graph
from loop.core.prompt import compose
from loop.core.role import commit_prefix
from loop.core.task import Task, title_of
from loop.store import timeline
from loop.store.files import replace
from loop.store.paths import Project
from loop.store.scan import read_result
from loop.store.shift import Shift
from loop.store.words import words_file
from loop.templates import template

#: What a Bash call shows whole. A longer task is read from its file.
MOST_CHARACTERS = 24_000
#: Events looked through for what a shift has done, and tasks named in its summary.
_EVENTS, _NAMED = 1000, 12
_WORDS = {"success": "done", "failure": "failed", "needs_input": "asking"}

_ENDINGS = """\
How to end task {id}: one of these as a Bash call, then end your turn; the next comes by itself.
- `loop done {id} --summary 'what you did' --notes 'what later tasks must know'`{checks}
- `loop done {id} --no-change --summary 'why nothing had to be changed'`
- `loop fail {id} --reason 'why, and what you tried'`
- `loop ask {id} 'the whole question' --option 'one way' --option 'another'`
- `loop split {id} --file {file}`; before it, write the parts into that file, a JSON list of
  {{"title": "...", "instructions": ["..."], "acceptance_criteria": ["..."]}}"""


def task_text(
    project: Project,
    task: Task,
    config: Config,
    now: datetime,
    graph: Graph | None = None,
    *,
    first: bool,
) -> str:
    """The task as the session reads it; `first` has the whole protocol with it.

    A text that would be cut on its way is put into the run's prompt file, which is named instead.
    """
    context = prompt_context(project, task, config, now, graph)
    parts = []
    if first:
        parts.append(template("protocol.md", prefix=commit_prefix(task.role, config.commit_prefix)))
    else:
        parts.append(
            "The next task. As before: context first, this task only, verify, commit your own "
            f"files as `{commit_prefix(task.role, config.commit_prefix)}({task.id}): TITLE`."
        )
    if task.role:
        parts.append(role_text(project, task.role)[0])
    order = f"Carry out task {task.id} now, completely, and end it as said here."
    body = compose(
        task, project=project.name, continued=False, context=context,
        left=left_words(project, task), prefix=config.commit_prefix,
        order=f"{endings(task, config)}\n\n{order}",
    )  # fmt: skip
    text = "\n\n".join([*(part.strip() for part in parts), body])
    if len(text) <= MOST_CHARACTERS:
        return text
    path = project.run_file(task.id, "prompt")
    replace(path, body.encode(), durable=False)
    parts.append(
        f"Task {task.id} in {project.name}: {title_of(task)}\n\nThe task is long: read all of "
        f"{path.relative_to(project.root).as_posix()} first, part by part."
    )
    return "\n\n".join([*(part.strip() for part in parts), f"{endings(task, config)}\n\n{order}\n"])


def endings(task: Task, config: Config) -> str:
    """How the session says how a task ended."""
    checked = bool(task.acceptance or config.verify.test_command or config.verify.lint_command)
    checks = (
        f" (runs the checks first, up to {config.verify.timeout_s:g} s; give the Bash call time)"
        if checked
        else ""
    )
    session = task.runs[-1].session if task.runs else None
    file = words_file(session or "")
    return _ENDINGS.format(id=task.id, checks=checks, file=file)


def report_first(task: Task, config: Config) -> str:
    """What is said at a stop without a report."""
    return (
        f"Task {task.id} ({title_of(task)}) is still at hand and nothing says how it ended. Go on "
        "with it if it is not finished (`loop next --claim` shows it again); else say how it "
        f"ended.\n\n{endings(task, config)}"
    )


def check_first(task: Task, shift: Shift) -> str:
    """What is said in place of a task whose checks have to be run before anything is changed."""
    return (
        f"Task {task.id} is next, and nobody knows how the project's checks go on the files as "
        f"they are. Change nothing yet. Run `loop next --claim --session {shift.session}` (give "
        "the Bash call time): it runs them and gives you the task. Then carry that out."
    )


def ended_already(task: Task) -> str:
    """What is said in place of a task of which the session has said how it ended."""
    return (
        f"How task {task.id} ended is on record. Do nothing more for it: end your turn, and it is "
        "settled; the next comes by itself.\n"
    )


def _ended(project: Project, since: datetime) -> dict[str, str]:
    """How the tasks ended that have ended in a shift."""
    ended: dict[str, str] = {}
    for event in timeline.last(project.timeline, _EVENTS):
        if event["event"] != "run_completed" or event.get("retry"):
            continue
        if _moment(event.get("ts")) >= since:
            ended[str(event.get("task_id"))] = str(event.get("status"))
    return ended


def summary(project: Project, since: datetime) -> str:
    """What a shift has come to, in one line; empty when no task has ended in it."""
    ended = _ended(project, since)
    return "; ".join(
        f"{len(ids)} {word} ({', '.join(ids[:_NAMED])}{', ...' if len(ids) > _NAMED else ''})"
        for status, word in _WORDS.items()
        if (ids := [task_id for task_id, said in ended.items() if said == status])
    )


def _moment(value: object) -> datetime:
    return datetime.fromisoformat(str(value))


def questions(project: Project, since: datetime) -> list[str]:
    """What was asked in a shift and is not answered yet, a line each."""
    asked = {}
    for task_id, status in _ended(project, since).items():
        result = read_result(project, task_id) if status == "needs_input" else None
        if result is not None and result.status == "needs_input":
            words = " ".join((result.remarks or result.summary).split())
            asked[task_id] = words if len(words) <= 200 else f"{words[:199]}…"
    lines = [f"{task_id} asks: {words}" for task_id, words in asked.items()]
    more = [f"{len(lines) - _NAMED} more ask"] if len(lines) > _NAMED else []
    return [*lines[:_NAMED], *more, *(["`loop requeue ID ANSWER` answers."] if lines else [])]


def counted(number: float, noun: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{number:g} {noun}" if number == 1 else f"{number:g} {noun}s"


def left_over(blocked: Mapping[str, str], waiting: Mapping[str, str]) -> str:
    """Why nothing that is left can run. `waiting`: task to the one whose answer it waits for."""
    words = [f"{task_id} is blocked by {cause} (failed)" for task_id, cause in blocked.items()]
    words += [f"{task_id} waits for {need}" for task_id, need in waiting.items()]
    more = f"; and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return "; ".join(words[:_NAMED]) + more
