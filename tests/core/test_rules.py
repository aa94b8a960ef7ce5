"""Which rules are dead, which allow more than they say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.core.rules import command_matches, denied_by, object_to

ROOT = "/p/app"
DENY = ("Edit(//p/app/.ai/**)", "Bash(git push *)", "Bash(curl *)", "Read(~/.ssh/**)",
        "Bash(sf org*)", "WebFetch")  # fmt: skip


@pytest.mark.parametrize(
    "rule",
    ["Bash(npm test)", "Bash(npm run test *)", "Bash(npm test *)", "Bash(git add *)",
     "Bash(git log --oneline)", "Bash(git show HEAD)", "Bash(python3 -m pytest)", "Bash(pytest *)",
     "Bash(mvn test *)", "Bash(sf apex run test *)", "Bash(npm test:*)", "Bash(git push-x)",
     "Edit(src/**)", "Edit(./src/a.py)", "Edit(//p/app/docs/**)", "Edit(**)", "Read",
     "Read(//etc/x)", "Skill(verify)", "mcp__a__b", "mcp__a-b__c", "WebSearch",
     "Bash(sed -i s/a/b/ x)"],
)  # fmt: skip
def test_nothing_speaks_against_a_narrow_rule(rule: str) -> None:
    assert object_to(rule, ROOT, DENY) is None


@pytest.mark.parametrize(
    ("rule", "instead"),
    [
        ("", "`Bash(npm test)`"),
        ("  ", "`Bash(npm test)`"),
        ("npm test", "`Bash(npm test)`"),
        (" Bash(npm test)", "`Bash(npm test)`"),
        ("Bash(npm test", "`Bash(npm test)`"),
        ("Bash(npm\ntest)", "`Bash(npm test)`"),
        ("Bash()", "`Bash(npm test)`"),
        ("bash(npm test)", "`Bash(npm test)`"),
        ("Shell(npm test)", "`Bash(...)`"),
        ("Write(//p/app/**)", "`Edit(//p/app/**)`"),
        ("NotebookEdit(src/**)", "`Edit(src/**)`"),
        ("Edit(/p/app/**)", "`Edit(//p/app/**)`"),
        ("Read(/etc/x)", "`Read(//etc/x)`"),
        (r"Edit(C:\app\**)", "`/`"),
        ("Edit(//p/app/.ai/x)", "`Edit(//p/app/.ai/**)` denies it"),
        ("Edit(//p/app/.ai/**)", "denies it"),
        ("Edit(.ai/x)", "denies it"),
        ("Edit(./.ai/**)", "denies it"),
        ("Bash(git push)", "`Bash(git push *)` denies it"),
        ("Bash(git push origin *)", "denies it"),
        ("Bash(curl -s http://x)", "denies it"),
        ("Bash(sf org:list)", "denies it"),
        ("Read(~/.ssh/id_rsa)", "denies it"),
        ("WebFetch", "denies it"),
        ("WebFetch(domain:x)", "denies it"),
    ],
)
def test_a_dead_rule_is_told_with_what_to_write_instead(rule: str, instead: str) -> None:
    objection = object_to(rule, ROOT, DENY)
    assert objection is not None
    assert objection.kind == "dead"
    assert instead in objection.why
    assert "\n" not in objection.why


@pytest.mark.parametrize(
    "rule",
    ["Bash", "Bash(*)", "Bash(:*)", "Bash(* test)", "Bash(git *)", "Bash(git:*)", "Bash(git log *)",
     "Bash(git log -n *)", "Bash(git diff *)", "Bash(git -C *)", "Bash(git archive *)",
     "Bash(/usr/bin/git show *)", "Bash(npm *)", "Bash(npm run *)", "Bash(npx *)", "Bash(npx x *)",
     "Bash(python3.12 -m pytest *)", "Bash(pip3 install *)", "Bash(truncate *)", "Bash(gh *)",
     "Bash(vim *)", "Bash(busybox *)", "Bash(doas *)", "Bash(npm exec *)", "Bash(npm publish *)",
     "Bash(pnpm dlx x *)", "Bash(npm run-script *)", "Bash(make -f *)", "Bash(npm --prefix *)",
     "Bash(python -m pytest *)", "Bash(/bin/sh *)", "Bash(find . *)", "Bash(sf *)", "Bash(g*)",
     "Edit(//etc/x)", "Edit(~/x)", "Edit(../x/**)", "Edit(//p/app/../x)",
     "Edit(//p/application/**)", "Edit(//**)", "Edit", "Edit(*)", "Write", "NotebookEdit",
     "Skill", "Skill(*)"],
)  # fmt: skip
def test_a_rule_that_allows_more_than_it_says_is_dangerous(rule: str) -> None:
    objection = object_to(rule, ROOT, DENY)
    assert objection is not None
    assert objection.kind == "dangerous"
    assert "; write " in objection.why
    assert "\n" not in objection.why


@given(st.text(min_size=1))
def test_one_exact_command_is_never_dangerous(command: str) -> None:
    objection = object_to(f"Bash({command.replace('*', '')})", ROOT)
    assert objection is None or objection.kind == "dead"


@given(st.text())
def test_no_rule_is_too_odd_to_be_judged(rule: str) -> None:
    object_to(rule, ROOT, DENY)


@pytest.mark.parametrize(
    ("pattern", "command", "covers"),
    [
        ("git push *", "git push", True),
        ("git push *", "git push origin", True),
        ("git push *", "git pushx", False),
        ("git push:*", "git push a", True),
        ("sf org*", "sf org:list", True),
        ("npm test", "npm test", True),
        ("npm test", "npm test x", False),
        ("sf* force:org*", "sfdx force:org:list", True),
        ("a.c", "abc", False),
    ],
)
def test_a_pattern_covers_commands_as_claude_code_reads_it(
    pattern: str, command: str, covers: bool
) -> None:
    assert command_matches(pattern, command) is covers


def test_a_rule_that_denies_a_whole_tool_wins() -> None:
    assert denied_by("Bash(x)", ["Bash"]) == "Bash"
    assert denied_by("Bash", ["Bash(x)"]) is None
