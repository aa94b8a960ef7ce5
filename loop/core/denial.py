"""Permission denials, each with the rule that would allow the call, where one is to recommend.

A rule is recommended only for a command, only the exact one, and only if `loop allow` takes it.
None is for what a rule refuses by name, and for files: where the Builder edits is a boundary.
"""

from __future__ import annotations

import re
import shlex
from typing import Any

import msgspec

from loop.core.result import Denial
from loop.core.rules import object_to

#: How Claude Code answers a call that a rule refuses by name, and not for want of one.
_BY_NAME = re.compile(
    r"denied by your permission settings|^Permission to use .* has been denied\.?$", re.DOTALL
)
#: Commands that Claude Code lets through by itself, and ours that are always allowed: what is piped
#: into them or stands beside them needs a rule, they don't.
_FREE = frozenset(("cat", "cd", "echo", "grep", "head", "ls", "pwd", "tail", "true", "wc"))
_FREE_GIT = frozenset(("add", "commit", "diff", "log", "status"))
#: Commands whose arguments are files to write.
_WRITERS = frozenset(
    ("chmod", "chown", "cp", "install", "ln", "mkdir", "mv", "rm", "rmdir", "sed", "tee", "touch")
)
#: Words that part one command from the next.
_BETWEEN = frozenset(("|", "|&", "&&", "||", ";"))


def denials_of(raw: list[dict[str, Any]]) -> tuple[Denial, ...]:
    """The denials of a result line, the same call once.

    An entry's `answer`, where there is one, is what Claude Code told the model.
    """
    found: dict[tuple[str, str], Denial] = {}
    for entry in raw:
        tool = str(entry.get("tool_name") or "tool")
        given = entry.get("tool_input")
        given = given if isinstance(given, dict) else {}
        shown = _shown(given)
        by_name = bool(_BY_NAME.search(_tagless(entry.get("answer"))))
        rule = "" if by_name else rule_for(tool, given)
        found.setdefault((tool, shown), Denial(tool=tool, input=shown, rule=rule, denied=by_name))
    return tuple(found.values())


def told(tool: str, shown: str, rule: str, *, denied: bool) -> str:
    """A denial as one line: the call, and what to do about it."""
    if denied:
        mend = "denied by your rules"
    elif rule:
        mend = f"`loop allow {shlex.quote(rule)}` allows it"
    elif tool in ("Edit", "Write", "NotebookEdit"):
        mend = "outside of what the Builder may edit"
    else:
        mend = "no single rule to recommend for it"
    return f"{tool} {shown} ({mend})"


def line_of(denial: Denial) -> str:
    """A denial as one line: the call, and what to do about it."""
    return told(denial.tool, denial.input, denial.rule, denied=denial.denied)


def _tagless(answer: object) -> str:
    return re.sub(r"</?tool_use_error>", "", answer).strip() if isinstance(answer, str) else ""


def _shown(given: dict[str, Any]) -> str:
    for key in ("command", "file_path", "notebook_path", "path", "pattern", "url"):
        if isinstance(given.get(key), str):
            return _cut(given[key])
    return _cut(msgspec.json.encode(given).decode()) if given else ""


def _cut(text: str) -> str:
    one_line = " ".join(text.split())
    if len(one_line) > 200:
        from loop.core.mask import masked  # whose patterns take time to compile

        one_line = masked(one_line)  # a cut secret would not be known for one
    return one_line if len(one_line) <= 200 else one_line[:199] + "…"


def rule_for(tool: str, given: dict[str, Any]) -> str:
    """The narrowest rule that allows a call, in Claude Code's own spelling; empty for none."""
    command = given.get("command")
    if tool == "Bash":
        needed = _needed(command) if isinstance(command, str) else None
        rule = f"Bash({needed})" if needed else ""
    elif tool in ("Edit", "Write", "NotebookEdit", "Read", "Glob", "Grep"):
        rule = ""
    elif tool == "Skill":
        rule = f"Skill({given['skill']})" if isinstance(given.get("skill"), str) else ""
    else:
        rule = tool
    # No root is needed: a rule for a place is never recommended.
    return rule if rule and object_to(rule, "") is None else ""


def _needed(command: str) -> str | None:
    """The one command in a line that needs a rule; None when there are several or it is unclear."""
    if re.search(r"[*`\\\n]|\$\(|<\(|>\(|<<", command) or len(command) > 200:
        return None
    try:
        lexer = shlex.shlex(command, posix=False, punctuation_chars="|&;<>()")
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return None
    if any(set(word) <= set("()") or word == "&" for word in words):
        return None
    parts: list[list[str]] = [[]]
    for word in words:
        if word in _BETWEEN:
            parts.append([])
        else:
            parts[-1].append(word)
    plain = [_without_redirection(part) for part in parts]
    needing = [part for part in plain if part is None or (part and not _is_free(part))]
    if len(needing) != 1 or needing[0] is None:
        return None
    moved = any(part[:1] == ["cd"] for part in parts)
    if moved and (needing[0][0] in _WRITERS or re.search(r"[|>]", command)):
        # Behind `cd`, Claude Code can't tell what a pipe or a file would be.
        return None
    if len(plain) == 1 and plain == parts:
        return command.strip()
    return " ".join(needing[0])


def _without_redirection(words: list[str]) -> list[str] | None:
    """The words but for redirections; None when one leads out of the project."""
    kept: list[str] = []
    skip = False
    for number, word in enumerate(words):
        if skip:
            skip = False
            if word != "/dev/null" and re.match(r"[/~]|.*(\$|\.\.)", word):
                return None
        elif set(word) <= set("<>&"):
            skip = True
        elif not (word in ("1", "2") and number + 1 < len(words) and words[number + 1][0] == ">"):
            kept.append(word)
    return kept


def _is_free(words: list[str]) -> bool:
    if words[0] == "git":
        return len(words) > 1 and words[1] in _FREE_GIT
    return words[0] in _FREE
