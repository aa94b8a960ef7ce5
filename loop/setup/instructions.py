"""The Project Instructions: what the person pastes into their project in Claude Desktop."""

from __future__ import annotations

from loop.setup.desktop_entry import server_name_of
from loop.store.paths import Project
from loop.templates import template

__all__ = ["project_instructions", "server_name_of"]


def project_instructions(project: Project, server: str) -> str:
    """The Architect's role for this project, reached through the server of that name."""
    return template(
        "project_instructions.md", project=project.name, root=str(project.root), server=server
    )
