"""What a tool is, and what all of them share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from loop.service.wakeups import Wakeups
from loop.store.paths import Project


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as it is offered."""

    name: str
    description: str
    arguments: type[Struct]
    #: names and JSON types of what the answer always holds
    answer: dict[str, str]
    run: Callable[[Any], Awaitable[dict[str, Any]]]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = True


@dataclass(frozen=True, slots=True)
class Wiring:
    """What the tools of a project work with."""

    project: Project
    wakeups: Wakeups
    env: Mapping[str, str]
    #: says what keeps the worker of this process from working, if anything does
    trouble: Callable[[], str | None]
