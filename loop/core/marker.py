"""The marker with which the Builder asks in plain text. Standard library only: hooks use it too."""

from __future__ import annotations

MARKER = "NEEDS_CLARIFICATION:"


def question_in(text: str) -> str | None:
    """What follows the marker, when it begins a line of `text` outside code fences; else None."""
    fence = ""
    offset = 0
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if fence:
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
        elif bare.startswith("~~~") or (bare.startswith("```") and "`" not in bare.lstrip("`")):
            fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
        elif line.startswith(MARKER):
            return text[offset + len(MARKER) :].strip() or "(the question is empty)"
        offset += len(line)
    return None
