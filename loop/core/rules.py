"""Permission rules as Claude Code reads them: which are dead, and which allow more than they say.

Owns: the judgement of one rule by its spelling alone, and whether a rule that denies wins over it.
Does not own: the lists of rules, files. What is said here was measured on Claude Code, in a file
given by `--settings`.

Invariant: a rule for one exact command is never dangerous; only a wildcard, a bare tool name or a
place outside the project is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from loop.errors import LoopError

#: Tools that a rule can name, beside those of MCP servers.
TOOLS = frozenset({
    "Agent", "Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read", "Skill", "Task", "WebFetch",
    "WebSearch", "Write",
})  # fmt: skip
#: Tools that write files.
_EDITS = ("Edit", "Write", "NotebookEdit")
_RULE = re.compile(r"([A-Za-z_][\w-]*)(?:\((.*)\))?", re.DOTALL)
_BACKSLASH = re.compile(r"\\(?![\[\]*{}()!#])")
#: Programs that run or write whatever their arguments say.
_LAUNCHERS = frozenset({
    "ansible", "awk", "aws", "az", "bash", "bun", "bunx", "busybox", "chmod", "chown", "cp",
    "crontab", "curl", "dash", "dd", "deno", "doas", "docker", "ed", "emacs", "env", "eval", "ex",
    "exec", "find", "ftp", "gawk", "gcloud", "gh", "heroku", "install", "java", "julia", "ksh",
    "kubectl", "ln", "lua", "mv", "mysql", "nano", "nc", "ncat", "nice", "nix", "node", "nodejs",
    "nohup", "npx", "open", "openssl", "osascript", "parallel", "patch", "perl", "php", "pip",
    "pipx", "podman", "powershell", "psql", "pwsh", "python", "rm", "rsync", "ruby", "scp",
    "script", "sed", "setsid", "sftp", "sh", "socat", "sort", "split", "sqlite", "ssh", "strace",
    "su", "sudo", "tar", "tclsh", "tee", "telnet", "terraform", "time", "timeout", "truncate",
    "ts-node", "tsx", "unzip", "uv", "uvx", "vi", "vim", "watch", "wget", "xargs", "xdg-open",
    "zip", "zsh",
})  # fmt: skip
#: Programs whose next word is what they do.
_OF_MANY = frozenset({
    "cargo", "go", "gradle", "make", "mvn", "npm", "pnpm", "rails", "rake", "sf", "sfdx", "yarn",
})  # fmt: skip
#: Such words that run what follows, or send it out, whatever it is.
_RUN_ANYTHING = frozenset({"create", "dlx", "exec", "init", "publish", "run-script", "x"})
#: What git does with files of the project only, whatever its options.
_TAME_GIT = frozenset({
    "add", "commit", "ls-files", "mv", "restore", "rev-parse", "rm", "stash", "status",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a rule should not be allowed, in one line with what to write instead."""

    #: `dead`: the rule allows nothing; `dangerous`: it allows more than it seems to
    kind: Literal["dead", "dangerous"]
    why: str


def parts(rule: str) -> tuple[str, str | None]:
    """Tool and argument of a rule; None is a bare tool name. `("", None)` for what is no rule."""
    match = _RULE.fullmatch(rule)
    return (match[1], match[2]) if match else ("", None)


def object_to(rule: str, root: str, deny: Sequence[str] = ()) -> Objection | None:
    """What speaks against allowing a rule; None when nothing does.

    `root` is the project's folder as rules write it, `/home/me/app`; `deny` are the rules that
    deny, and win.
    """
    why = dead(rule)
    if why is not None:
        return Objection("dead", why)
    by = denied_by(_absolute(rule, root), deny)
    if by is not None:
        return Objection("dead", f"`{by}` denies it, and that wins; take it out of deny first")
    why = dangerous(rule, root)
    return None if why is None else Objection("dangerous", why)


def _absolute(rule: str, root: str) -> str:
    tool, text = parts(rule)
    if tool not in ("Edit", "Read") or text is None or text.startswith(("/", "~", "*")):
        return rule
    return f"{tool}(/{root}/{text.removeprefix('./')})"


def dead(rule: str) -> str | None:
    """Why a rule does nothing, and what to write instead; None when it does something."""
    if not rule.strip():
        return "it is empty; write a rule such as `Bash(npm test)`"
    tool, text = parts(rule)
    if rule != rule.strip() or not rule.isprintable() or not tool:
        return "it is no rule; write the tool and its argument, such as `Bash(npm test)`"
    if tool not in TOOLS and not tool.startswith("mcp__"):
        named = next((t for t in TOOLS if t.lower() == tool.lower()), None)
        instead = f"write `{named}{rule[len(tool) :]}`" if named else "write `Bash(...)`"
        return f"there is no tool {tool}; {instead}"
    if text is not None and not text.strip():
        return f"its parentheses are empty; write what {tool} may do, such as `Bash(npm test)`"
    return _dead_place(tool, text)


def _dead_place(tool: str, text: str | None) -> str | None:
    if text is None or tool not in (*_EDITS, "Read"):
        return None
    if tool in ("Write", "NotebookEdit") and text != "*":
        return f"it matches nothing; write `Edit({text})`, which governs {tool} too"
    if _BACKSLASH.search(text):
        return "backslashes part no folders; write `/` (`C:\\app` is `//c/app`)"
    if text.startswith("/") and not text.startswith("//"):
        return f"it is read from the folder of the settings file; write `{tool}(/{text})`"
    return None


def dangerous(rule: str, root: str) -> str | None:
    """How a rule allows more than it seems to, and what to write instead; None when it doesn't."""
    tool, text = parts(rule)
    if tool in _EDITS:
        return _outside(text or "*", root)
    if tool == "Skill" and (text is None or "*" in text):
        return "a skill can bring rules and hooks of its own; write `Skill(NAME)`"
    if tool != "Bash":
        return None
    if text is None:
        return "it allows every command; write the one that is needed, such as `Bash(npm test)`"
    if "*" not in text:
        return None
    return _wild_command(re.sub(r":\*$", " *", text))


def _outside(path: str, root: str) -> str | None:
    # Without a place, or with `*` alone, it is every place.
    anywhere = path.startswith(("//", "~")) or path == "*"
    inside = path.startswith(f"/{root}/") or not anywhere
    if inside and ".." not in path.split("/"):
        return None
    return f"it lets the Builder write outside the project; write `Edit(/{root}/FOLDER/**)`"


def _wild_command(text: str) -> str | None:
    words = text.split()
    wild = next(number for number, word in enumerate(words) if "*" in word)
    fixed = words[:wild]
    program = fixed[0].rpartition("/")[2] if fixed else "*"
    if not fixed:
        return "it allows every command; write the one that is needed, such as `Bash(npm test)`"
    if program == "git":
        if len(fixed) == 1:
            return "it allows `git push` and options that run programs; write `Bash(git COMMAND)`"
        if fixed[1] in _TAME_GIT:
            return None
        exact = " ".join(fixed)
        return (
            f"options of `{' '.join(fixed[:2])}` can write elsewhere or run programs (--output, "
            f"--exec); write the exact command, such as `Bash({exact})`"
        )
    if program.rstrip("0123456789.") not in _LAUNCHERS and (
        program not in _OF_MANY or _says_what(fixed[1:])
    ):
        return None
    return f"`{' '.join(fixed)}` runs or writes what its arguments say; write the exact command"


def _says_what(words: list[str]) -> bool:
    """Whether what a program of many does is fixed by the words behind its name."""
    if not words or words == ["run"]:
        return False
    return words[0] not in _RUN_ANYTHING and not words[0].startswith("-")


def denied_by(rule: str, deny: Sequence[str]) -> str | None:
    """The rule of `deny` that wins over a rule that allows; None when none does."""
    tool, text = parts(rule)
    for other in deny:
        against, pattern = parts(other)
        if against != tool:
            continue
        if pattern is None or pattern == text:
            return other
        if text is None:
            continue
        if tool == "Bash" and command_matches(pattern, re.sub(r"(:| )?\*$", "", text)):
            return other
        if tool in ("Edit", "Read") and pattern.endswith("/**"):
            folder = pattern.removesuffix("**")
            if text.startswith(folder) or text == folder.rstrip("/"):
                return other
    return None


def command_matches(pattern: str, command: str) -> bool:
    """Whether the argument of a Bash rule covers a command, which is taken as it is written."""
    pattern = re.sub(r":\*$", " *", pattern)
    if pattern.endswith(" *"):
        body, end = pattern.removesuffix(" *"), r"(?: .*)?"
    else:
        body, end = pattern, ""
    expression = ".*".join(re.escape(piece) for piece in body.split("*")) + end
    return re.fullmatch(expression, command, re.DOTALL) is not None


def rule_path(root: PurePath) -> str:
    """The absolute path, as it follows the first `/` of a rule such as `Edit(//home/me/app/**)`.

    On Windows `C:\\app` is `/c/app`.

    Rules are patterns, so characters that mean something there are escaped.

    Raises:
        LoopError: it can't be written in a rule.
    """
    path = root.as_posix()
    if root.drive.endswith(":"):
        path = "/" + root.drive[0].lower() + path.removeprefix(root.drive)
    if re.search(r"[?\\\x00-\x1f]", path):
        raise LoopError(
            f"{str(root)!r}: Claude Code's permission rules can't name a folder with '?', '\\' or "
            "a control character in its path; rename it and try again"
        )
    return re.sub(r"[\[\]*{}()!#]", r"\\\g<0>", path)
