"""The Architect's tools: their arguments, their descriptions, and the action behind each.

No protocol here (server.py has it) and no rules (the actions have them). Arguments are decoded
leniently ("25" is a number) but completely: an unknown name is an error that lists those there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from loop.service.tools.judging import Judging
from loop.service.tools.observing import Observing
from loop.service.tools.queueing import Queueing
from loop.service.tools.tool import Tool, Wiring
from loop.service.wakeups import Wakeups
from loop.store.paths import Project
from loop.templates import template

#: The essential ones first: a client may show no more.
_ORDER = (
    "queue_task",
    "check_builder_status",
    "queue_plan",
    "get_task",
    "requeue_task",
    "escalate_to_user",
    "review_changes",
    "undo_task",
    "list_tasks",
    "edit_task",
    "cancel_task",
    "pause_queue",
    "resume_queue",
    "show_timeline",
)


class Toolbox:
    """All tools of one project."""

    def __init__(
        self,
        project: Project,
        wakeups: Wakeups,
        env: Mapping[str, str],
        trouble: Callable[[], str | None] = lambda: None,
    ) -> None:
        """`trouble` says what keeps the worker of this process from working, if anything does."""
        wiring = Wiring(project, wakeups, env, trouble)
        groups = (Queueing(wiring), Observing(wiring), Judging(wiring))
        tools = {tool.name: tool for group in groups for tool in group.tools()}
        self._tools = [tools[name] for name in _ORDER]

    def tools(self, *, read_only: bool) -> list[Tool]:
        """The tools on offer, the essential ones first."""
        return [tool for tool in self._tools if tool.read_only or not read_only]


def instructions(project: Project, server: str) -> str:
    """The server's own instructions: the Architect's role in short."""
    return template(
        "server_instructions.md", server=server, project=project.name, root=str(project.root)
    )
