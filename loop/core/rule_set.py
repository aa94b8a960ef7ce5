"""The Builder's settings as a whole: what one version asks for beyond another, and less of it.

Owns: comparing two settings, the settings that are no more than both of them, and those of a role.
Does not own: files, the judgement of one rule.

More is: a rule more in `allow`, one less in `deny` or `ask`, and any other change at all: hooks,
`env`, a mode. Less is: a rule less in `allow`, one more in `deny` or `ask`.

Invariant: what `narrowed` and `for_role` give never allows anything that was not allowed before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

from loop.core.rules import dangerous, parts

_LISTS = ("allow", "deny", "ask")
#: Where tests are, below the project's folder: all that a tester edits, with the README.
TEST_PLACES = (
    "**/tests/**", "**/test/**", "**/__tests__/**", "**/*.test.*", "**/*.spec.*", "**/test_*.py",
    "**/*_test.*", "**/classes/*Test.cls", "**/classes/*Test.cls-meta.xml", "README.md",
)  # fmt: skip
#: Commands that an architect may run: they change nothing.
_LOOKING = ("Bash(git status *)", "Bash(git diff)")
_LOOKING_TOOLS = ("Read", "Glob", "Grep")
#: What git does without a change of the files in the project.
_KEEPING_GIT = frozenset(
    {"add", "commit", "diff", "log", "ls-files", "rev-parse", "show", "status"}
)
#: Roles that may do less than a developer.
ROLES = ("tester", "architect")


@dataclass(frozen=True, slots=True)
class Change:
    """One difference of the settings that are asked for from the approved ones."""

    #: `allow`, `deny`, `ask`, `hooks` or the name of another setting
    where: str
    added: bool
    #: the rule, the hook, or the setting's value as JSON
    what: str
    #: whether it asks for more than was approved
    more: bool


def changes(asked: dict[str, Any], approved: dict[str, Any]) -> list[Change]:
    """Every difference of meaning; the order of rules and the spelling of JSON are none."""
    found: list[Change] = []
    for where in _LISTS:
        now, then = rules_in(asked, where), rules_in(approved, where)
        allows = where == "allow"
        found += [Change(where, True, rule, allows) for rule in now if rule not in then]
        found += [Change(where, False, rule, not allows) for rule in then if rule not in now]
    now_rest, then_rest = _rest(asked), _rest(approved)
    for key in dict.fromkeys([*now_rest, *then_rest]):
        if now_rest.get(key) != then_rest.get(key):
            found += _changed(key, now_rest.get(key), then_rest.get(key))
    return found


def rules_in(settings: dict[str, Any], where: str) -> list[str]:
    """One list of rules; empty when there is none. What is no text is left to the rest."""
    permissions = settings.get("permissions")
    listed = permissions.get(where) if isinstance(permissions, dict) else None
    return list(listed) if _is_list_of_rules(listed) else []


def narrowed(approved: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """The approved settings, with whatever of the other ones asks for less."""
    allow = [rule for rule in rules_in(approved, "allow") if rule in rules_in(asked, "allow")]
    lists = {"allow": allow}
    for where in ("deny", "ask"):
        lists[where] = list(dict.fromkeys([*rules_in(approved, where), *rules_in(asked, where)]))
    return _with_lists(approved, lists)


def for_role(settings: dict[str, Any], root: str, role: str | None) -> dict[str, Any]:
    """The settings of a run for a role; `root` is the project's folder as rules write it.

    A tester edits test files and the README only, an architect nothing. Rules whose reach can't be
    told by their spelling, such as `Bash` or those of MCP servers, count for neither. Every other
    role is a developer's.
    """
    if role not in ROLES:
        return settings
    allow, deny = rules_in(settings, "allow"), rules_in(settings, "deny")
    everywhere = f"Edit(/{root}/**)"
    if role == "architect":
        kept = [rule for rule in allow if rule in _LOOKING or parts(rule)[0] in _LOOKING_TOOLS]
        return _with_lists(settings, {"allow": kept, "deny": [*deny, everywhere]})
    kept = [
        rule
        for rule in allow
        if parts(rule)[0] in ("Bash", *_LOOKING_TOOLS)
        and dangerous(rule, root) is None
        and not _changes_by_git(rule)
    ]
    if everywhere in allow:
        kept = [*(f"Edit(/{root}/{place})" for place in TEST_PLACES), *kept]
    return _with_lists(settings, {"allow": kept})


def _changes_by_git(rule: str) -> bool:
    """Whether it lets git change files, test files or not."""
    words = re.split(r"[\s:]+", parts(rule)[1] or "")
    return words[0] == "git" and words[1:2] != [] and words[1] not in _KEEPING_GIT


def _with_lists(settings: dict[str, Any], lists: dict[str, list[str]]) -> dict[str, Any]:
    permissions = settings.get("permissions")
    old = permissions if isinstance(permissions, dict) else {}
    filled = {where: rules for where, rules in lists.items() if rules or where in old}
    return settings | {"permissions": old | filled}


def _rest(settings: dict[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in settings.items() if key != "permissions"}
    permissions = settings.get("permissions")
    if not isinstance(permissions, dict):
        return rest | ({} if permissions is None else {"permissions": permissions})
    others = {
        f"permissions.{key}": value
        for key, value in permissions.items()
        if key not in _LISTS or not _is_list_of_rules(value)
    }
    return rest | others


def _is_list_of_rules(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(rule, str) for rule in value)


def _changed(key: str, now: Any, then: Any) -> Iterator[Change]:
    new, old = (list(_hooks(v)) if key == "hooks" else [] for v in (now, then))
    added, gone = ([h for h in a if h not in b] for a, b in ((new, old), (old, new)))
    if not added and not gone:
        added = [] if now is None else [json.dumps(now, ensure_ascii=False)]
        gone = [] if then is None else [json.dumps(then, ensure_ascii=False)]
    for what in gone:
        yield Change(key, False, what, True)
    for what in added:
        yield Change(key, True, what, True)


def _hooks(events: Any) -> Iterator[str]:
    """Each hook as one line: its event, what it fires on, and what it does."""
    for event, groups in events.items() if isinstance(events, dict) else ():
        for group in groups if isinstance(groups, list) else []:
            if not isinstance(group, dict):
                continue
            matcher = f" {group['matcher']}" if group.get("matcher") else ""
            hooks = group.get("hooks")
            for hook in hooks if isinstance(hooks, list) else []:
                does = hook.get("command") if isinstance(hook, dict) else None
                shown = does if isinstance(does, str) else json.dumps(hook, ensure_ascii=False)
                yield f"{event}{matcher}: {shown}"
