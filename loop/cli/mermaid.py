"""The graph of the tasks as a Mermaid diagram, for documents that draw it.

Bounded, since Mermaid refuses more than 500 arrows or 50,000 characters; a node says what is left
out. No title can end its label or become a part of the diagram.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loop.cli.wording import counted, one_line
from loop.core.task_id import parent_of

MOST_NODES = 200
MOST_ARROWS = 450
_TITLE_CHARACTERS = 40
_CLASSES = {
    "running": "fill:#cff,stroke:#099,color:#000",
    "blocked": "fill:#fcc,stroke:#900,color:#000",
    "failure": "fill:#fcc,stroke:#900,color:#000",
    "needs_input": "fill:#ffc,stroke:#990,color:#000",
    "success": "fill:#cfc,stroke:#090,color:#000",
    "queued": "fill:#fff,stroke:#666,color:#000",
}
#: What ends a label, marks it up, or begins an entity or a directive.
_ENTITIES = {ord(c): f"#{ord(c)};" for c in '"`#&<>%\\;{}[]()|'}


def mermaid(rows: Sequence[dict[str, Any]]) -> str:
    """The diagram of rows as actions/overview.py lists them: an arrow leads to what waits."""
    shown = rows[:MOST_NODES]
    there = {row["id"] for row in shown}
    arrows: list[str] = []
    left_out = 0
    for row in shown:
        needs = row.get("depends_on", [])
        arrows += [f"  {_name(n)} --> {_name(row['id'])}" for n in needs if n in there]
        left_out += sum(n not in there for n in needs) + row.get("depends_on_more", 0)
        parent = parent_of(row["id"])
        if parent in there:
            arrows.append(f"  {_name(str(parent))} -.- {_name(row['id'])}")
    left_out += max(0, len(arrows) - MOST_ARROWS)
    lines = ["graph TD", *map(_node, shown), *arrows[:MOST_ARROWS]]
    words = [counted(len(rows) - len(shown), "task")] if len(rows) > len(shown) else []
    words += [counted(left_out, "arrow")] if left_out else []
    if words:
        lines.append(f'  more["not shown: {", ".join(words)}"]')
    states = dict.fromkeys(row["state"] for row in shown if row["state"] in _CLASSES)
    lines += [f"  classDef {state} {_CLASSES[state]}" for state in states]
    return "\n".join(lines) + "\n"


def _node(row: dict[str, Any]) -> str:
    label = one_line(row["title"], _TITLE_CHARACTERS).translate(_ENTITIES)
    mark = f":::{row['state']}" if row["state"] in _CLASSES else ""
    return f'  {_name(row["id"])}["{row["id"]}: {label}"]{mark}'


def _name(task_id: str) -> str:
    return "t" + task_id.replace(".", "_")
