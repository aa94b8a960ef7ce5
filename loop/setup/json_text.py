"""Setting and removing one value in the text of a JSON object, with all other text left as it is.

Owns: the place of a member in the text, its duplicates, the style (indentation, line endings) of
what is put in. Does not own: files.

Invariant: what is not the member that is set or removed stays byte for byte: order, spelling of
numbers, escapes, blank lines. Removing what was just set gives the old text back, except that an
object that was absent or held only blanks stays as `{}`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

_BLANKS = " \t\r\n"


class JsonProblem(Exception):
    """The text is not an object that can be edited. Says why, and where."""

    def __init__(self, what: str, text: str, place: int) -> None:
        line = text.count("\n", 0, place) + 1
        column = place - text.rfind("\n", 0, place)
        super().__init__(f"line {line}, column {column}: {what}")


@dataclass(frozen=True)
class _Member:
    key: str
    start: int
    value_start: int
    end: int


@dataclass(frozen=True)
class _Object:
    start: int
    end: int
    members: list[_Member]

    def member(self, key: str) -> _Member | None:
        return next((member for member in self.members if member.key == key), None)


def parse(text: str) -> dict[str, Any]:
    """The object that the text holds.

    Raises: JsonProblem if it is no JSON, or no object.
    """

    def refuse(constant: str) -> NoReturn:
        raise JsonProblem(f"{constant} is not JSON", text, text.find(constant))

    try:
        value = json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as problem:
        raise JsonProblem(problem.msg, text, problem.pos) from None
    except (RecursionError, ValueError) as problem:
        raise JsonProblem(f"not readable ({problem})", text, 0) from None
    if not isinstance(value, dict):
        raise JsonProblem(f"expected an object {{...}}, found {_kind(value)}", text, _skip(text, 0))
    return value


def get_value(text: str, keys: Sequence[str]) -> Any:
    """The value at the path `keys`, or None if there is none.

    Raises: JsonProblem, also for an object on the way that names a key twice, or that is
    something else.
    """
    parse(text)
    at = _skip(text, 0)
    for key in keys:
        member = _object(text, at).member(key)
        if member is None:
            return None
        at = member.value_start
    return _DECODER.raw_decode(text, at)[0]


def set_value(text: str, keys: Sequence[str], value: Any) -> str:
    """The text with `value` at the path `keys`; objects that are missing on the way are made.

    Raises: JsonProblem, as `get_value`.
    """
    parse(text)
    style = _Style.of(text)
    at = _skip(text, 0)
    for depth, key in enumerate(keys):
        found = _object(text, at)
        member = found.member(key)
        if member is None:
            for missing in reversed(keys[depth + 1 :]):
                value = {missing: value}
            return _insert(text, found, style, key, value)
        at = member.value_start
    indent = _indent(text, member.start) if member else None
    assert member is not None, "keys must not be empty"
    return text[: member.value_start] + style.dump(value, indent) + text[member.end :]


def append_value(text: str, keys: Sequence[str], value: Any) -> str:
    """The text with `value` as the last of the list at the path `keys`, which is made if missing.

    Raises: JsonProblem, as `get_value`, also if something else than a list is there.
    """
    old = get_value(text, keys)
    if old is None or old == []:
        return set_value(text, keys, [value])
    at = _skip(text, 0)
    for key in keys:
        member = _object(text, at).member(key)
        assert member is not None, "there is a value"
        at = member.value_start
    if not isinstance(old, list):
        raise JsonProblem(f"expected a list [...], found {_kind(old)}", text, at)
    style = _Style.of(text)
    at = _skip(text, at + 1)
    while True:
        start = at
        _, end = _DECODER.raw_decode(text, at)
        at = _skip(text, end)
        if text[at] == "]":
            break
        at = _skip(text, at + 1)
    indent = _indent(text, start)
    gap = ", " if indent is None else "," + style.newline + indent
    return text[:end] + gap + style.dump(value, indent) + text[end:]


def remove_value(text: str, keys: Sequence[str]) -> str:
    """The text without the member at the path `keys`; unchanged if there is none.

    Raises: JsonProblem, as `get_value`.
    """
    parse(text)
    found = _object(text, _skip(text, 0))
    for key in keys[:-1]:
        member = found.member(key)
        if member is None:
            return text
        found = _object(text, member.value_start)
    member = found.member(keys[-1])
    if member is None:
        return text
    if len(found.members) == 1:
        return text[: found.start] + "{}" + text[found.end :]
    index = found.members.index(member)
    if index == 0:
        return text[: member.start] + text[found.members[1].start :]
    return text[: found.members[index - 1].end] + text[member.end :]


@dataclass(frozen=True)
class _Style:
    newline: str
    #: One level of indentation; None for a text that is all on one line.
    unit: str | None

    @classmethod
    def of(cls, text: str) -> _Style:
        members = _object(text, _skip(text, 0)).members
        unit = _indent(text, members[0].start) if members else "  "
        return cls("\r\n" if "\r\n" in text else "\n", "  " if unit == "" else unit)

    def dump(self, value: Any, indent: str | None) -> str:
        """The value as JSON, for a line that begins with `indent`; on one line if that is None."""
        if indent is None or self.unit is None:
            return json.dumps(value, ensure_ascii=False)
        lines = json.dumps(value, ensure_ascii=False, indent=self.unit).split("\n")
        return (self.newline + indent).join(lines)


def _insert(text: str, found: _Object, style: _Style, key: str, value: Any) -> str:
    name = json.dumps(key, ensure_ascii=False) + ": "
    if found.members:
        last = found.members[-1]
        indent = _indent(text, last.start)
        gap = ", " if indent is None else "," + style.newline + indent
        return text[: last.end] + gap + name + style.dump(value, indent) + text[last.end :]
    if style.unit is None:
        inside = name + style.dump(value, None)
    else:
        line = text[text.rfind("\n", 0, found.start) + 1 : found.start]
        outer = line[: len(line) - len(line.lstrip(_BLANKS))]
        indent = outer + style.unit
        inside = style.newline + indent + name + style.dump(value, indent) + style.newline + outer
    return text[: found.start] + "{" + inside + "}" + text[found.end :]


_DECODER = json.JSONDecoder()


def _object(text: str, start: int) -> _Object:
    """The members of the object at `start`, in text that is known to be JSON."""
    if text[start] != "{":
        value = _DECODER.raw_decode(text, start)[0]
        raise JsonProblem(f"expected an object {{...}}, found {_kind(value)}", text, start)
    members: list[_Member] = []
    at = _skip(text, start + 1)
    while text[at] != "}":
        key_start = at
        key, at = _DECODER.raw_decode(text, at)
        if any(member.key == key for member in members):
            raise JsonProblem(f"{json.dumps(key)} stands there twice", text, key_start)
        value_start = _skip(text, _skip(text, at) + 1)
        _, at = _DECODER.raw_decode(text, value_start)
        members.append(_Member(key, key_start, value_start, at))
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return _Object(start, at + 1, members)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at


def _indent(text: str, at: int) -> str | None:
    """What stands before `at` on its line, if that is blank; None if something else does."""
    line_start = text.rfind("\n", 0, at) + 1
    before = text[line_start:at]
    return before if line_start and not before.strip(_BLANKS) else None


def _kind(value: Any) -> str:
    names = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
