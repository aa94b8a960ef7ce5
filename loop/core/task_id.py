"""Ids of tasks and the file names made of them.

An id is `"42"` or, for a subtask, `"42.1"`. Its file name has four digits or more in the first
part: `0042.json`, `0042.1.json`. No other spelling is an id, so an id from outside is checked here
before it becomes part of a path.
"""

from __future__ import annotations

import re

from loop.errors import BadInput

_MOST_DIGITS = 9
_ID = re.compile(r"[1-9][0-9]{0,8}(?:\.[1-9][0-9]{0,5}){0,8}", re.ASCII)
_LOOSE = re.compile(r"0*([1-9][0-9]{0,8})((?:\.0*[1-9][0-9]{0,5}){0,8})", re.ASCII)


def checked_id(text: object) -> str:
    """The id itself, when it is one; `0042` is taken for `42`.

    Raises:
        BadInput: it is not an id.
    """
    if isinstance(text, int) and not isinstance(text, bool):
        text = str(text)
    if isinstance(text, str):
        loose = _LOOSE.fullmatch(text.strip().removesuffix(".json"))
        if loose:
            return ".".join(str(int(part)) for part in (loose[1] + loose[2]).split("."))
    raise BadInput("task_id", f'{text!r:.60} is not a task id; give one like "42" or "42.1"')


def is_id(text: str) -> bool:
    """Whether the text is an id in its one right spelling."""
    if text.isdecimal() and text.isascii():  # nearly all of them
        return text[0] != "0" and len(text) <= _MOST_DIGITS
    return _ID.fullmatch(text) is not None


def stem(task_id: str) -> str:
    """The file name of an id, without `.json`: `"42.1"` gives `"0042.1"`."""
    first, dot, rest = task_id.partition(".")
    return f"{int(first):04d}{dot}{rest}"


def id_of_file(name: str) -> str | None:
    """The id that a file name stands for; None when the name is not spelled as it should be."""
    if not name.endswith(".json"):
        return None
    digits = name[:-5]
    if len(digits) == 4 and digits.isascii() and digits.isdecimal():  # nearly all of them
        return digits.lstrip("0") or None
    loose = _LOOSE.fullmatch(name[:-5])
    if not loose:
        return None
    task_id = ".".join(str(int(part)) for part in (loose[1] + loose[2]).split("."))
    return task_id if f"{stem(task_id)}.json" == name else None


def right_name(name: str) -> str | None:
    """How a wrongly spelled task file should be named; None when it holds no id."""
    loose = _LOOSE.fullmatch(name.removesuffix(".json"))
    if not loose:
        return None
    task_id = ".".join(str(int(part)) for part in (loose[1] + loose[2]).split("."))
    return f"{stem(task_id)}.json"


def sort_key(task_id: str) -> tuple[int, ...]:
    """Orders ids numerically part by part: 2 before 10, 42 before 42.1."""
    if "." not in task_id:
        return (int(task_id),)
    return tuple(int(part) for part in task_id.split("."))


def parent_of(task_id: str) -> str | None:
    """The id of the task that a subtask is a part of: `42` for `42.1`; None for one of its own."""
    head, dot, _ = task_id.rpartition(".")
    return head if dot else None


def children_of(task_id: str, count: int) -> list[str]:
    """The ids of a task's first `count` subtasks."""
    return [f"{task_id}.{number}" for number in range(1, count + 1)]
