"""An answer as text."""

from __future__ import annotations

from typing import Any


def as_text(data: dict[str, Any], indent: str = "") -> str:
    """An answer as short lines for reading; nothing of it is left out."""
    lines = []
    for key, value in data.items():
        if isinstance(value, dict):
            inner = ", ".join(f"{k} {v}" for k, v in value.items() if v not in (None, [], {}))
            flat = not any(isinstance(v, dict | list) for v in value.values())
            nested = f"{indent}{key}:\n{as_text(value, indent + '  ')}"
            lines.append(f"{indent}{key}: {inner}" if flat and len(inner) < 200 else nested)
        elif isinstance(value, list):
            lines.extend(_listed(key, value, indent))
        elif value is not None:
            text = str(value).rstrip().replace("\n", f"\n{indent}  ")
            lines.append(f"{indent}{key}: {text}")
    return "\n".join(lines)


def _listed(key: str, values: list[Any], indent: str) -> list[str]:
    lines = [f"{indent}{key}:"]
    for value in values:
        if isinstance(value, dict):
            inner = as_text(value, indent + "  ").lstrip()
            lines.append(f"{indent}- {inner}")
        else:
            lines.append(f"{indent}- {value}")
    return lines
