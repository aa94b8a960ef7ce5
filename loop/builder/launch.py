"""A launch file: everything that the launcher and the shim are told about one run.

Owns the reading of `running/0042.launch` and the check of its fields, before anything is touched.

    {"run": UUID, "task_id": "42", "number": 1, "argv": [...], "prompt": PATH, "record": PATH,
     "log": PATH, "err": PATH, "exit": PATH, "cancel": PATH,
     "limits": {"total_s": 1800.0, "first_reply_s": 300.0, "silent_s": 900.0, "grace_s": 10.0}}
"""
# pathlib is too slow to import on the way to the Builder's start:
# ruff: noqa: PTH123

from __future__ import annotations

import json

from loop.builder.supervision import Limits


class Launch:
    """What a launch file says: one run, its command, its limits and its files."""

    def __init__(self, fields: dict[str, object]) -> None:
        """Take the fields of the launch file.

        Raises:
            ValueError: a field is absent or of the wrong kind.
        """
        #: The UUID of the run.
        self.run = _text(fields, "run")
        if not (self.run.isascii() and self.run.replace("-", "").isalnum()):
            raise ValueError(f"run {self.run!r} is not a UUID")
        self.task_id = _text(fields, "task_id")
        number, argv, limits = (fields.get(key) for key in ("number", "argv", "limits"))
        if not isinstance(number, int):
            raise ValueError("number is not an integer")
        #: Which run of the task this is, from 1 on.
        self.number = number
        if not isinstance(argv, list) or not argv or not all(isinstance(a, str) for a in argv):
            raise ValueError("argv is not a list of strings")
        #: The Builder's command; the first is an absolute path.
        self.argv: list[str] = argv
        if not isinstance(limits, dict):
            raise ValueError("limits is not an object")
        self.limits = Limits(
            *(_seconds(limits, key) for key in ("total_s", "first_reply_s", "silent_s", "grace_s"))
        )
        #: Absolute paths: the Builder's stdin, the task's running file, stdout, stderr.
        self.prompt, self.record = _text(fields, "prompt"), _text(fields, "record")
        self.log, self.err = _text(fields, "log"), _text(fields, "err")
        #: Absolute paths: where the end is recorded, and where one asks for it.
        self.exit, self.cancel = _text(fields, "exit"), _text(fields, "cancel")

    @classmethod
    def read(cls, path: str) -> Launch:
        """Read a launch file.

        Raises:
            OSError: it can't be read.
            ValueError: it is damaged.
        """
        with open(path, "rb") as file:
            fields = json.loads(file.read())
        if not isinstance(fields, dict):
            raise ValueError("not a JSON object")
        return cls(fields)


def _text(fields: dict[str, object], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{key} is not a text")
    return value


def _seconds(fields: dict[str, object], key: str) -> float:
    value = fields.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{key} is not a number")
    return float(value)
