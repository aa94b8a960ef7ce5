from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.core.denial import denials_of, rule_for


@pytest.mark.parametrize(
    ("tool", "given_input", "rule"),
    [
        ("Bash", {"command": "curl -s http://x"}, "Bash(curl *)"),
        ("Bash", {"command": "ls"}, "Bash(ls)"),
        ("Bash", {"command": "npm run test -- --watch"}, "Bash(npm run *)"),
        ("Bash", {"command": "git push"}, "Bash(git push)"),
        ("Bash", {"command": "sf project deploy start"}, "Bash(sf project *)"),
        ("Bash", {"command": "echo 'unclosed"}, "Bash(echo *)"),
        ("Bash", {"command": ""}, "Bash()"),
        ("Edit", {"file_path": "/p/a.py"}, "Edit(//p/a.py)"),
        ("Write", {"file_path": "/p/a.py"}, "Edit(//p/a.py)"),
        ("NotebookEdit", {"notebook_path": "/p/a.ipynb"}, "Edit(//p/a.ipynb)"),
        ("Write", {"file_path": "src/a.py"}, "Edit(src/a.py)"),
        ("WebFetch", {"url": "http://x"}, "WebFetch"),
        ("mcp__a__b", {}, "mcp__a__b"),
    ],
)
def test_the_rule_that_would_allow_a_call_is_in_claude_codes_own_spelling(
    tool: str, given_input: dict[str, Any], rule: str
) -> None:
    assert rule_for(tool, given_input) == rule


def test_the_same_call_is_told_once() -> None:
    call = {"tool_name": "Bash", "tool_use_id": "1", "tool_input": {"command": "curl  http://x"}}
    again = {**call, "tool_use_id": "2"}
    other = {"tool_name": "Bash", "tool_input": {"command": "wget x"}}
    assert [(d.tool, d.input) for d in denials_of([call, again, other])] == [
        ("Bash", "curl http://x"),
        ("Bash", "wget x"),
    ]


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
