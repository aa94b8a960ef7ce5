from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.core.denial import denials_of, line_of, rule_for
from loop.core.rules import object_to


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("npm test", "Bash(npm test)"),
        ("npm run test -- --watch", "Bash(npm run test -- --watch)"),
        ("FOO=1 npm test", "Bash(FOO=1 npm test)"),
        ("python3 -c 'print(1)'", "Bash(python3 -c 'print(1)')"),
        ("pytest -k 'a and b' tests", "Bash(pytest -k 'a and b' tests)"),
        # Beside what needs no rule, and behind what leads to where the Builder may write.
        ("cd web && npm test", "Bash(npm test)"),
        ("npm test 2>&1 | tail -20", "Bash(npm test)"),
        ("git add . && npm run lint && git commit -m x", "Bash(npm run lint)"),
        ("npm test > out.txt", "Bash(npm test)"),
        ("npm test >/dev/null", "Bash(npm test)"),
        # No rule for one command would allow these, or it would allow more.
        ("npm test > /etc/x", ""),
        ("npm test > ../x", ""),
        ("npm test > $HOME/x", ""),
        ("cd sub && mkdir x", ""),
        ("cd sub && npm test 2>&1", ""),
        ("cd sub && npm test | tail", ""),
        ("npm test && npm run build", ""),
        ("npm test & rm x", ""),
        ("(npm test)", ""),
        ("touch $(date)", ""),
        ("touch `date`", ""),
        ("ls *.py", ""),
        ("echo 'unclosed", ""),
        ("git status\ntouch x", ""),
        ("cat <<X", ""),
        ("x" * 300, ""),
        ("", ""),
    ],
)
def test_the_exact_command_is_recommended_or_nothing(command: str, rule: str) -> None:
    assert rule_for("Bash", {"command": command}) == rule


@pytest.mark.parametrize(
    ("tool", "given_input", "rule"),
    [
        ("Edit", {"file_path": "/p/a.py"}, ""),
        ("Write", {"file_path": "/p/a.py"}, ""),
        ("NotebookEdit", {"notebook_path": "/p/a.ipynb"}, ""),
        ("Read", {"file_path": "/etc/passwd"}, ""),
        ("Skill", {"skill": "verify"}, "Skill(verify)"),
        ("WebFetch", {"url": "http://x"}, "WebFetch"),
        ("mcp__a__b", {}, "mcp__a__b"),
        ("Bash", {}, ""),
        ("no tool", {}, ""),
    ],
)
def test_no_place_is_recommended_and_other_tools_by_their_name(
    tool: str, given_input: dict[str, Any], rule: str
) -> None:
    assert rule_for(tool, given_input) == rule


@given(st.text())
def test_what_is_recommended_is_what_loop_allow_takes(command: str) -> None:
    rule = rule_for("Bash", {"command": command})
    assert not rule or object_to(rule, "/p") is None


@pytest.mark.parametrize(
    ("answer", "denied"),
    [
        ("Permission to use Bash with command git push has been denied.", True),
        ("Permission to use Bash with command git push\nnow has been denied.", True),
        ("<tool_use_error>File is in a directory that is denied by your permission settings."
         "</tool_use_error>", True),
        ("Permission to use Bash has been denied because Claude Code is running in don't ask "
         "mode. IMPORTANT: ...", False),
        (None, False),
        (["odd"], False),
    ],
)  # fmt: skip
def test_a_boundary_is_told_from_a_rule_that_is_missing(answer: object, denied: bool) -> None:
    entry = {"tool_name": "Bash", "tool_input": {"command": "npm test"}, "answer": answer}
    (denial,) = denials_of([entry])
    assert denial.denied is denied
    assert denial.rule == ("" if denied else "Bash(npm test)")
    mend = "denied by your rules" if denied else "`loop allow 'Bash(npm test)'` allows it"
    assert line_of(denial) == f"Bash npm test ({mend})"


def test_a_place_that_no_rule_names_is_told_as_a_boundary_too() -> None:
    (denial,) = denials_of([{"tool_name": "Write", "tool_input": {"file_path": "/x"}}])
    assert line_of(denial) == "Write /x (outside of what the Builder may edit)"
    (denial,) = denials_of([{"tool_name": "Bash", "tool_input": {"command": "a && b"}}])
    assert line_of(denial) == "Bash a && b (no single rule to recommend for it)"


def test_the_same_call_is_told_once() -> None:
    call = {"tool_name": "Bash", "tool_use_id": "1", "tool_input": {"command": "curl  http://x"}}
    again = {**call, "tool_use_id": "2"}
    other = {"tool_name": "Bash", "tool_input": {"command": "wget x"}}
    assert [(d.tool, d.input) for d in denials_of([call, again, other])] == [
        ("Bash", "curl http://x"),
        ("Bash", "wget x"),
    ]


def test_a_secret_is_hidden_before_its_input_is_cut() -> None:
    call = {"tool_name": "Bash", "tool_input": {"command": "x" * 190 + " ghp_" + "aB3x" * 9}}
    assert "aB3x" not in line_of(denials_of([call])[0])


def test_a_long_input_is_cut() -> None:
    (denial,) = denials_of([{"tool_name": "Bash", "tool_input": {"command": "x" * 5000}}])
    assert len(denial.input) == 200


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["tool_name", "tool_input"]),
            st.none() | st.integers() | st.text() | st.dictionaries(st.text(), st.text()),
        )
    )
)
def test_no_entry_of_a_result_line_is_too_odd_to_be_told(raw: list[dict[str, Any]]) -> None:
    decoded = json.loads(json.dumps(raw))
    for denial in denials_of(decoded):
        assert denial.tool
        assert "\n" not in denial.input
