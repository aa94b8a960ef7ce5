"""The script `loop-hook`, called by Claude Code: `report` and `stop` in the Builder's runs, `shift`
in people's own sessions.

Owns: whether there is anything to do, and the answer's form. The guard's judgement is in guard.py,
what the session that the queue is bound to is told in shift.py.

Invariants: the exit is always 0 and stdout holds an answer or nothing. Whatever goes wrong lets the
ending pass, with one line on stderr. A session without LOOP_RUN to which no queue is bound costs no
more than the start of Python, so nothing but `os`, `sys` and `time` is imported before that is
known, json only for the run on record, and pathlib and git only for an ending that is judged. Hooks
never start Claude Code.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Which event of Claude Code calls us under which word.
_EVENTS = {"report": "PreToolUse", "stop": "Stop"}
_REPORT_TOOL = "StructuredOutput"
#: Outcomes of a report that claim an ending; the others ask, or admit a failure.
_CLAIMS = ("done", "no_change_needed")


def main() -> int:
    """Judges an ending of the Builder; always 0."""
    run = os.environ.get("LOOP_RUN")
    if not run:
        return _in_own_session()
    if sys.argv[1:] == ["shift"]:
        return 0  # the plugin's hooks fire in the Builder's runs, too
    known: _Known | None = None
    try:
        known = _on_record(run)
        if known is not None:
            _judge(known, sys.argv[1:])
    except KeyboardInterrupt:
        pass
    except Exception as error:  # a broken check must not look like a refusal
        _tell_trouble(known, error)
    return 0


def _in_own_session() -> int:
    """A person's own session: nothing is done but in the one that the queue is bound to."""
    began_s = time.monotonic()
    try:
        found = _binding_above(os.environ.get("CLAUDE_CODE_SESSION_ID", ""))
        if found is not None:
            _work_shift(found, began_s)
    except KeyboardInterrupt:
        pass
    except Exception as error:  # a person's session must not be held up by a defect of ours
        _tell_trouble(None, error)
    return 0


def _binding_above(session: str) -> str | None:
    """The project at or above the session's folder that is bound to it.

    Without a session, the nearest with a binding; so with one that is damaged and may be ours.
    """
    for place in (os.environ.get("CLAUDE_PROJECT_DIR"), _here()):
        folder = os.path.realpath(place) if place else ""
        while folder:
            data = _read(f"{folder}/.ai/shift.json")
            if data and (session.encode() in data or not data.rstrip().endswith(b"}")):
                return folder
            above = os.path.dirname(folder)  # noqa: PTH120 -- pathlib takes as long as all else
            folder = above if above != folder else ""
    return None


def _here() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 -- pathlib takes as long as all else here
    except OSError:
        return None


def _work_shift(root: str, began_s: float) -> None:
    import json

    if sys.stdin is None or sys.stdout is None:
        raise ValueError("stdin or stdout is closed")
    given = json.loads(sys.stdin.buffer.read())
    if not isinstance(given, dict):
        raise ValueError("the hook's input is no object")
    import gc

    gc.disable()  # it would look again and again at what the imports bring, and none is garbage
    from loop.hooks.shift import answer

    said = answer(root, given, began_s)
    if said is not None:
        _write(sys.stdout, json.dumps(said))
    os._exit(0)  # taking the interpreter down takes its time


class _Known:
    """The run that we are in. No dataclass: importing that takes as long as all else here."""

    def __init__(self, root: str, stem: str, run: str, before: object) -> None:
        self.root = root
        self.stem = stem
        self.run = run
        #: commit of the snapshot before the run; empty when there is none
        self.before = before if isinstance(before, str) else ""


def _on_record(run: str) -> _Known | None:
    """The run of the environment; None when its task doesn't run, or in another run."""
    root = os.environ.get("LOOP_PROJECT")
    stem = _stem(os.environ.get("LOOP_TASK_ID", ""))
    if not root or not stem:
        return None
    record = _read(f"{root}/.ai/running/{stem}.json")
    if run.encode() not in record:
        return None
    import json

    last = json.loads(record)["runs"][-1]
    return _Known(root, stem, run, last.get("before")) if last["uuid"] == run else None


def _stem(task_id: str) -> str:
    """The name of the task's files; empty when the id is none."""
    first, dot, rest = task_id.partition(".")
    right = all(part.isascii() and part.isdigit() for part in task_id.split("."))
    return f"{int(first):04d}{dot}{rest}" if right else ""


def _read(path: str) -> bytes:
    """The content of a file; empty when there is none."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 -- pathlib takes as long as all else here
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return b""


def _judge(known: _Known, words: list[str]) -> None:
    import json

    if len(words) != 1 or words[0] not in _EVENTS:
        raise ValueError(f"call it as loop-hook {' or loop-hook '.join(_EVENTS)}")
    word = words[0]
    if sys.stdin is None or sys.stdout is None:
        raise ValueError("stdin or stdout is closed")
    given = json.loads(sys.stdin.buffer.read())
    config = _settings(_read(f"{known.root}/.ai/config.json"))
    if not known.before or not _claims_an_ending(word, given, config):
        return
    from loop.hooks.guard import refusal

    found = refusal(_place(known), known.before, max_file_mb=_max_file_mb(config))
    if found is not None:
        again = "give the same report again" if word == "report" else "end with the same text again"
        _write(sys.stdout, json.dumps(_answer(word, f"{found} Then {again}.")))


def _settings(data: bytes) -> dict[str, Any]:
    """The settings; none where they can't be read, which is the worker's to complain about."""
    import json

    try:
        config = json.loads(data)
    except ValueError:
        return {}
    return config if isinstance(config, dict) else {}


def _max_file_mb(config: dict[str, Any]) -> float:
    """As in the snapshot before the run, else what that left out would look like a change."""
    checkpoint = config.get("checkpoint")
    value = checkpoint.get("max_file_mb") if isinstance(checkpoint, dict) else None
    return value if isinstance(value, int | float) and value > 0 else 10


def _claims_an_ending(word: str, given: object, config: dict[str, Any]) -> bool:
    """Whether the Builder says that it is through, where the guard has a say.

    A report is judged whatever `builder.report` says by now: that there is one shows how the run
    began. In a run that ends with a report Claude Code ignores what a Stop hook says.
    """
    if config.get("readme_guard") is False or _field(given, "hook_event_name") != _EVENTS[word]:
        return False
    if word == "report":
        if _field(given, "tool_name") != _REPORT_TOOL:
            return False
        return _field(_field(given, "tool_input"), "outcome") in _CLAIMS
    builder = config.get("builder")
    if not isinstance(builder, dict) or builder.get("report") != "marker":
        return False
    if isinstance(given, dict) and given.get("background_tasks"):
        return False
    from loop.core.marker import question_in

    return question_in(str(_field(given, "last_assistant_message"))) is None


def _field(given: object, name: str) -> object:
    """A field of the hook's input.

    Raises:
        ValueError: there is none.
    """
    if not isinstance(given, dict) or name not in given:
        raise ValueError(f"the hook's input has no {name}")
    return given[name]


def _answer(word: str, reason: str) -> dict[str, Any]:
    if word == "stop":
        return {"decision": "block", "reason": reason}
    return {
        "hookSpecificOutput": {
            "hookEventName": _EVENTS[word],
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    }


def _write(stream: Any, text: str) -> None:
    """Writes past Python's buffers: what stays in them at the end would spoil the exit code."""
    data = text.encode()
    while data:
        data = data[os.write(stream.fileno(), data) :]


def _tell_trouble(known: _Known | None, error: Exception) -> None:
    from contextlib import suppress

    words = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    with suppress(Exception):  # stderr may be closed
        _write(sys.stderr, f"loop-hook let this pass: {words}\n")
    with suppress(Exception):  # the trouble may be that guard.py can't be imported
        if known is not None:
            from loop.hooks.guard import note_trouble

            note_trouble(_place(known), words)


def _place(known: _Known) -> Any:
    from pathlib import Path

    from loop.hooks.guard import Place

    return Place(Path(known.root), known.stem, known.run)


if __name__ == "__main__":
    sys.exit(main())
