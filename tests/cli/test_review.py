"""`loop review`: nothing is left out without a word."""

from __future__ import annotations

from collections.abc import Callable

from loop.core.result import Denial
from loop.store.paths import Project
from tests.cli.conftest import Called, settled


def test_what_is_too_much_to_show_is_counted(project: Project, loop: Callable[..., Called]) -> None:
    settled(
        project, "Much", "success", "success",
        warnings=[f"warning {n}" for n in range(40)],
        permission_denials=[Denial("Bash", f"command {n}", "") for n in range(40)],
    )  # fmt: skip
    lines = loop("review", "1").out.splitlines()
    for heading in ("Warnings", "Denied"):
        start = lines.index(heading)
        shown = [line for line in lines[start + 1 :] if line.strip()]
        more = next(line for line in shown if line.strip().startswith("and "))
        assert 40 - shown.index(more) == int(more.split()[1])
