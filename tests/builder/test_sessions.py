from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from loop.builder.sessions import cost_before, session_to_resume, transcript_of
from loop.core.task import Run, Task

NOW = datetime(2026, 7, 23, tzinfo=UTC)
SESSION = "5d9246a9-9d6c-44bd-939e-b11e32cda888"


def a_run(**fields: Any) -> Run:
    known: dict[str, Any] = {
        "number": 1,
        "uuid": "u",
        "started": NOW,
        "session": SESSION,
        "turns": 3,
    }
    return Run(**known | {"status": "needs_input", "reason": "needs_input"} | fields)


def a_task(*runs: Run, **fields: Any) -> Task:
    return Task(id="1", instructions=["x"], created_at=NOW, runs=list(runs), **fields)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A home in which the session was kept."""
    folder = tmp_path / ".claude/projects/-tmp-shop"
    folder.mkdir(parents=True)
    (folder / f"{SESSION}.jsonl").touch()
    return {"HOME": str(tmp_path)}


def test_an_answered_question_goes_on_in_its_session(env: dict[str, str]) -> None:
    assert session_to_resume(a_task(a_run()), env) == SESSION
    interrupted = a_run(status="failure", reason="interrupted")
    assert session_to_resume(a_task(interrupted), env) == SESSION


@pytest.mark.parametrize(
    "run",
    [
        a_run(session=None), a_run(session="of-another-machine"),
        a_run(status="failure", reason="prompt_too_long"), a_run(status="failure", reason="silent"),
        a_run(status="failure", reason="no_reply"),
        a_run(status="failure", reason="damaged_output"),
        a_run(status="failure", reason="could_not_start"),
        a_run(status="paused", reason="login", turns=0),
        a_run(status="paused", reason="login", turns=None),
    ],
)  # fmt: skip
def test_a_session_that_is_not_there_or_would_end_the_same_is_not_resumed(
    env: dict[str, str], run: Run
) -> None:
    assert session_to_resume(a_task(run), env) is None


def test_a_first_or_fresh_run_starts_without_memory(env: dict[str, str]) -> None:
    assert session_to_resume(a_task(), env) is None
    assert session_to_resume(a_task(a_run(), fresh=True), env) is None


def test_the_last_run_decides(env: dict[str, str]) -> None:
    assert session_to_resume(a_task(a_run(), a_run(session="other")), env) is None


def test_sessions_are_looked_for_where_claude_code_is_told_to_keep_them(
    env: dict[str, str], tmp_path: Path
) -> None:
    assert transcript_of(SESSION, env)
    elsewhere = env | {"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    assert not transcript_of(SESSION, elsewhere)
    (tmp_path / ".claude").rename(tmp_path / "config")
    assert transcript_of(SESSION, elsewhere)


def test_what_a_session_had_cost_before_is_the_sum_of_its_earlier_runs() -> None:
    runs = [
        a_run(cost=0.5), a_run(cost=None), a_run(cost=0.25, session="other"), a_run(cost=0.125),
        a_run(cost=9.0),
    ]  # fmt: skip
    assert cost_before(runs, SESSION) == 0.625
    assert cost_before(runs[:1], SESSION) == 0
