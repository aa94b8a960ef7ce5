"""Rules that the person adds, and the review of what changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loop.builder.permissions import approved, approved_file, check_command
from loop.errors import BadInput, LoopError, NotReady, WrongState
from loop.setup.allow import add_rules, approve_reviewed, in_force, refuse_in_a_run, review
from loop.setup.json_text import JsonProblem, append_value
from loop.store.paths import Project
from loop.store.project_files import load_config
from tests.setup.person import Person


@pytest.fixture
def project(person: Person) -> Project:
    return person.init().project


def allowed(path: Path) -> list[str]:
    rules = json.loads(path.read_text())["permissions"]["allow"]
    assert isinstance(rules, list)
    return rules


def test_a_rule_is_put_in_behind_the_others_and_all_else_stays(project: Project) -> None:
    before = project.builder_settings.read_text()
    done = add_rules(project, ["Bash(npm test)", "Bash(npm test)", "Read"])
    assert (done.added, done.there_already) == (["Bash(npm test)"], ["Read"])
    last = '"Bash(git diff)"'
    wanted = before.replace(last, last + ',\n      "Bash(npm test)"')
    assert project.builder_settings.read_text() == wanted
    assert approved(project).read_text() == wanted
    again = add_rules(project, ["Bash(npm test)"])
    assert (again.added, again.there_already) == ([], ["Bash(npm test)"])
    assert project.builder_settings.read_text() == wanted


def test_only_the_rule_is_approved_and_nothing_that_waits(project: Project) -> None:
    text = project.builder_settings.read_text()
    project.builder_settings.write_text(text.replace('"Read",', '"Read", "Bash(touch x)",'))
    done = add_rules(project, ["Bash(npm test)"])
    assert done.pending
    assert "Bash(touch x)" in allowed(project.builder_settings)
    assert "Bash(touch x)" not in allowed(approved_file(project))
    assert "Bash(npm test)" in allowed(approved_file(project))
    # A rule that waits is approved by naming it.
    assert not add_rules(project, ["Bash(touch x)"]).pending
    assert "Bash(touch x)" in allowed(approved(project))


@pytest.mark.parametrize(
    ("rule", "anyway"),
    [
        ("Write(src/**)", False),
        ("Write(src/**)", True),
        ("Edit(/src/**)", True),
        ("", True),
        ("Bash(git push)", True),
        ("Edit(.ai/x)", True),
        ("WebFetch", True),
        ("Bash", False),
        ("Bash(*)", False),
        ("Bash(git *)", False),
        ("Bash(git log -n *)", False),
        ("Edit(//etc/**)", False),
    ],
)
def test_a_refused_rule_changes_nothing_and_all_come_together_or_none(
    project: Project, rule: str, anyway: bool
) -> None:
    before = project.builder_settings.read_bytes()
    with pytest.raises(BadInput) as problem:
        add_rules(project, ["Bash(npm test)", rule], anyway=anyway)
    assert f"`{rule}`: " in str(problem.value)
    assert "\n" not in str(problem.value)
    assert project.builder_settings.read_bytes() == before
    assert approved_file(project).read_bytes() == before


def test_a_dangerous_rule_is_taken_anyway(project: Project) -> None:
    with pytest.raises(BadInput, match="or give --anyway"):
        add_rules(project, ["Bash(npm *)"])
    assert add_rules(project, ["Bash(npm *)"], anyway=True).added == ["Bash(npm *)"]


def test_a_tool_that_the_builder_lacks_can_be_allowed_once_it_has_it(project: Project) -> None:
    with pytest.raises(BadInput, match=r"builder\.tools"):
        add_rules(project, ["WebFetch"])
    project.config.write_text('{"builder": {"tools": "Read, WebFetch"}}')
    assert add_rules(project, ["WebFetch"]).added == ["WebFetch"]


def test_the_files_style_stays_and_a_missing_list_is_made(project: Project) -> None:
    for content in (b'\xef\xbb\xbf{"permissions": {"allow": ["Read"]}}\r\n', b'{\r\n\t"a": 1\r\n}'):
        project.builder_settings.write_bytes(content)
        approve_reviewed(project, review(project))
        add_rules(project, ["Bash(npm test)"])
        written = project.builder_settings.read_bytes()
        assert written == approved_file(project).read_bytes()
        assert written[:3] == content[:3]
        assert written.count(b"\n") == written.count(b"\r\n")


def test_without_an_approval_there_is_nothing_to_add_to(person: Person) -> None:
    project = person.project
    project.ai.mkdir()
    for call in (lambda: add_rules(project, ["Read"]), lambda: in_force(project),
                 lambda: review(project)):  # fmt: skip
        with pytest.raises(NotReady, match="run `loop init`"):
            call()


def test_what_is_in_force_is_what_was_approved_less_what_is_asked_no_more(
    project: Project,
) -> None:
    text = project.builder_settings.read_text()
    less = text.replace('      "Bash(git diff)"\n', '      "Bash(touch x)"\n')
    project.builder_settings.write_text(less)
    rules = in_force(project)
    assert "Bash(git diff)" not in rules.allow
    assert "Bash(touch x)" not in rules.allow
    assert "Bash(git push *)" in rules.deny
    assert rules.pending


def test_a_review_shows_and_approves_what_was_seen_only(project: Project) -> None:
    assert review(project).nothing
    (project.root / ".mcp.json").write_text("{}")
    seen = review(project)
    assert [(file.path, file.how) for file in seen.difference.files] == [(".mcp.json", "appeared")]
    (project.root / ".mcp.json").write_text('{"mcpServers": {}}')
    approve_reviewed(project, seen)
    with pytest.raises(NotReady, match=r"\.mcp\.json changed"):
        approved(project)
    approve_reviewed(project, review(project))
    assert approved(project)


def test_a_command_of_the_settings_is_reviewed_too(project: Project) -> None:
    project.config.write_text('{"verify": {"test_command": "make test"}}')
    seen = review(project)
    (change,) = seen.difference.commands
    assert (change.where, change.what) == ("verify.test_command", '"make test"')
    assert not seen.nothing
    assert in_force(project).pending
    approve_reviewed(project, seen)
    check_command(project, load_config(project))
    project.config.write_text("{}")
    assert not review(project).difference.more


def test_files_are_reviewed_when_the_rules_file_is_gone_too(project: Project) -> None:
    project.builder_settings.unlink()
    (project.root / ".mcp.json").write_text("{}")
    approve_reviewed(project, review(project))
    assert approved(project) == approved_file(project)


def test_a_file_that_cant_be_understood_is_one_line(project: Project) -> None:
    project.builder_settings.write_text("{,}")
    for call in (lambda: add_rules(project, ["Read"]), lambda: review(project)):
        with pytest.raises(LoopError, match=r"\.ai/builder\.settings\.json") as problem:
            call()
        assert "\n" not in str(problem.value)


def test_a_builder_can_approve_nothing() -> None:
    refuse_in_a_run({"PATH": "/bin"})
    with pytest.raises(WrongState, match="a run can't approve"):
        refuse_in_a_run({"LOOP_RUN": "x"})


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"a": [1]}', '{"a": [1, 2]}'),
        ('{"a": []}', '{"a": [2]}'),
        ('{"a": null}', '{"a": [2]}'),
        ("{}", '{\n  "a": [\n    2\n  ]\n}'),
        ('{\n  "a": [ "x]", [3] ]\n}', '{\n  "a": [ "x]", [3], 2 ]\n}'),
        ('{\r\n\t"a": [\r\n\t\t1\r\n\t]\r\n}', '{\r\n\t"a": [\r\n\t\t1,\r\n\t\t2\r\n\t]\r\n}'),
    ],
)
def test_a_value_is_appended_in_the_lists_own_style(text: str, wanted: str) -> None:
    assert append_value(text, ["a"], 2) == wanted


def test_a_value_is_appended_to_a_list_only() -> None:
    with pytest.raises(JsonProblem, match=r"expected a list \[...\], found a text"):
        append_value('{"a": "b"}', ["a"], 2)
