"""When the hook has nothing to do, and that trouble never refuses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loop.errors import LoopError
from loop.hooks.guard import Place, locked, refusal
from tests.hooks.guarded import (
    RUN,
    SOURCE,
    Guarded,
    Hooked,
    hook_command,
    report_input,
    stop_input,
)


@pytest.fixture
def changed(tmp_path: Path) -> Guarded:
    """A project where an ending is refused."""
    project = Guarded.make(tmp_path)
    project.write("app.py", "print('new')\n")
    return project


def imported_by(project: Guarded, word: str, given: object, **env: str | None) -> set[str]:
    """Names of the modules that are there when the hook is through."""
    code = (
        "import sys; from loop.hooks.entry import main; code = main(); "
        "sys.stderr.write('\\n'.join(sys.modules)); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, word],
        input=json.dumps(given).encode(),
        env=project.env(**env),
        capture_output=True,
        timeout=30,
        check=True,
    )
    return set(done.stderr.decode().split())


@pytest.mark.parametrize(
    "env",
    [
        {"LOOP_RUN": None},
        {"LOOP_RUN": ""},
        {"LOOP_RUN": "another-run"},
        {"LOOP_TASK_ID": "43"},
        {"LOOP_TASK_ID": None},
        {"LOOP_TASK_ID": "../42"},
        {"LOOP_PROJECT": None},
        {"LOOP_PROJECT": "/no/such/folder"},
    ],
)
@pytest.mark.parametrize("word", ["report", "stop"])
def test_outside_a_run_it_is_silent_and_imports_nothing(
    changed: Guarded, word: str, env: dict[str, str | None]
) -> None:
    changed.configure(builder={"report": "marker"})
    given = report_input() if word == "report" else stop_input("Done.")
    assert changed.hook(word, given, env=changed.env(**env)).passed
    loaded = imported_by(changed, word, given, **env)
    assert "loop.hooks.entry" in loaded
    assert not loaded & {"json", "re", "pathlib", "subprocess", "loop.git", "loop.hooks.guard"}
    assert changed.record is None


def test_an_earlier_run_of_the_same_task_is_not_judged(changed: Guarded) -> None:
    path = changed.root / ".ai/running/0042.json"
    record = json.loads(path.read_text())
    record["runs"].append(record["runs"][-1] | {"number": 3, "uuid": "a-later-run"})
    path.write_text(json.dumps(record))
    assert changed.report().passed


def test_a_subtask_s_files_are_found(changed: Guarded) -> None:
    running = changed.root / ".ai/running"
    (running / "0042.json").rename(running / "0042.1.json")
    assert changed.report(env=changed.env(LOOP_TASK_ID="42.1")).reason
    assert (running / "0042.1.guard").exists()


def test_a_judgement_needs_the_standard_library_alone(changed: Guarded) -> None:
    for word, given in (("report", report_input()), ("stop", stop_input("Done."))):
        changed.configure(builder={"report": "marker"})
        loaded = imported_by(changed, word, given)
        assert "loop.git.snapshot" in loaded
        ours = {name for name in loaded if name.partition(".")[0] == "loop"}
        tops = {name.partition(".")[0] for name in loaded - ours}
        site = {n for n in tops if n not in sys.stdlib_module_names and not n.startswith("_")}
        assert not site
        packages = {".".join(name.split(".")[:2]) for name in ours}
        assert packages <= {"loop", "loop.core", "loop.errors", "loop.git", "loop.hooks"}
        assert {n for n in ours if n.startswith("loop.core.")} <= {"loop.core.marker"}
        assert "asyncio" not in loaded


@pytest.mark.parametrize("outcome", ["needs_input", "failed", "nonsense"])
def test_a_report_that_claims_no_ending_passes(changed: Guarded, outcome: str) -> None:
    assert changed.report(outcome).passed
    assert changed.record is None


def test_a_report_of_no_change_is_judged_by_the_files(changed: Guarded) -> None:
    assert changed.report("no_change_needed").reason


def test_another_tool_s_call_passes(changed: Guarded) -> None:
    assert changed.hook("report", report_input() | {"tool_name": "Bash"}).passed


def test_a_stop_never_blocks_where_a_report_ends_the_run(changed: Guarded) -> None:
    assert changed.stop().passed
    changed.configure(builder={"report": "schema"})
    assert changed.stop().passed


def test_a_stop_blocks_where_the_last_text_ends_the_run(changed: Guarded) -> None:
    changed.configure(builder={"report": "marker"})
    hooked = changed.stop()
    answer = json.loads(hooked.stdout)
    assert hooked.exit == 0
    assert set(answer) == {"decision", "reason"}
    assert answer["decision"] == "block"
    assert answer["reason"].endswith("Then end with the same text again.")
    assert changed.stop(stop_hook_active=True).stdout
    assert changed.stop().passed
    assert changed.record == {"run": RUN, "refusals": 2, "gave_up": True}


@pytest.mark.parametrize(
    ("words", "asks"),
    [
        ("NEEDS_CLARIFICATION: A or B?", True),
        ("I looked.\n\nNEEDS_CLARIFICATION: A or B?\nA) one", True),
        ("```\nx\n```\nNEEDS_CLARIFICATION: A or B?", True),
        ("I need no NEEDS_CLARIFICATION: at all.", False),
        ("```\nNEEDS_CLARIFICATION: A or B?\n```", False),
    ],
)
def test_a_stop_that_asks_passes(changed: Guarded, words: str, asks: bool) -> None:
    changed.configure(builder={"report": "marker"})
    assert changed.stop(words).passed is asks


def test_a_stop_with_background_work_passes(changed: Guarded) -> None:
    changed.configure(builder={"report": "marker"})
    assert changed.stop(background_tasks=[{"id": "b1", "status": "running"}]).passed
    assert not changed.stop(hook_event_name="Stop").passed


def test_a_stop_of_a_subagent_passes(changed: Guarded) -> None:
    changed.configure(builder={"report": "marker"})
    assert changed.stop(hook_event_name="SubagentStop").passed


def test_the_guard_can_be_switched_off(changed: Guarded) -> None:
    changed.configure(readme_guard=False)
    assert changed.report().passed


@pytest.mark.parametrize("config", ["{", "[]", '{"builder": 3}', '{"readme_guard": "no"}', "\x00"])
def test_broken_settings_count_as_not_set(changed: Guarded, config: str) -> None:
    changed.write(".ai/config.json", config)
    assert changed.report().reason
    assert changed.stop().passed


@pytest.mark.parametrize("before", [None, "", 3])
def test_a_run_without_a_snapshot_passes(changed: Guarded, before: object) -> None:
    path = changed.root / ".ai/running/0042.json"
    record = json.loads(path.read_text())
    record["runs"][-1]["before"] = before
    path.write_text(json.dumps(record))
    assert changed.report().passed


def no_json(project: Guarded) -> Hooked:
    return project.hook("report", b"{no json")


def no_input(project: Guarded) -> Hooked:
    return project.hook("report", b"")


def no_object(project: Guarded) -> Hooked:
    return project.hook("report", [1])


def no_tool_input(project: Guarded) -> Hooked:
    return project.hook(
        "report", {"hook_event_name": "PreToolUse", "tool_name": "StructuredOutput"}
    )


def nested_too_deep(project: Guarded) -> Hooked:
    return project.hook("report", b"[" * 200_000)


def no_message(project: Guarded) -> Hooked:
    project.configure(builder={"report": "marker"})
    return project.hook("stop", {"hook_event_name": "Stop"})


def unknown_word(project: Guarded) -> Hooked:
    return project.hook("deploy", report_input())


def snapshot_gone(project: Guarded) -> Hooked:
    path = project.root / ".ai/running/0042.json"
    record = json.loads(path.read_text())
    record["runs"][-1]["before"] = "0123456789" * 4
    path.write_text(json.dumps(record))
    project.write("README.md", "# Shop\n")
    return project.report()


def repository_gone(project: Guarded) -> Hooked:
    (project.root.parent / ".git").rename(project.root.parent / "gone")
    return project.report()


def index_damaged(project: Guarded) -> Hooked:
    (project.root.parent / ".git" / "index").write_bytes(b"DIRCnonsense")
    return project.report()


def git_missing(project: Guarded) -> Hooked:
    if shutil.which("git", path="/usr/local/bin:/opt/homebrew/bin"):
        pytest.skip("git is found here without PATH, too")
    return project.report(env=project.env(PATH="/no/such/folder"))


def lock_held(project: Guarded) -> Hooked:
    with locked(project.root / ".ai/state/guard.lock"):
        return project.report()


def state_gone(project: Guarded) -> Hooked:
    shutil.rmtree(project.root / ".ai/state")
    return project.report()


TROUBLE_ON_RECORD = [
    no_json,
    no_input,
    no_object,
    no_tool_input,
    nested_too_deep,
    no_message,
    unknown_word,
    snapshot_gone,
    repository_gone,
    index_damaged,
    git_missing,
]


@pytest.mark.parametrize("trouble", TROUBLE_ON_RECORD)
def test_trouble_passes_with_a_line_and_is_on_record(
    changed: Guarded, trouble: Callable[[Guarded], Hooked]
) -> None:
    hooked = trouble(changed)
    assert hooked.passed_with_trouble
    record = changed.record
    assert record is not None
    assert record.pop("trouble") in hooked.stderr
    assert record == {"run": RUN, "refusals": 0, "gave_up": False}


@pytest.mark.parametrize("trouble", [lock_held, state_gone])
def test_a_refusal_that_can_not_be_counted_is_none(
    changed: Guarded, trouble: Callable[[Guarded], Hooked]
) -> None:
    assert trouble(changed).passed_with_trouble
    assert changed.record is None


def test_only_the_first_trouble_is_on_record_and_refusals_stay(changed: Guarded) -> None:
    assert changed.report().reason
    first = no_json(changed)
    assert no_object(changed).passed_with_trouble
    record: dict[str, Any] = changed.record or {}
    assert record["trouble"] in first.stderr
    assert record["refusals"] == 1
    assert changed.report().reason


def test_a_run_s_record_that_is_no_json_passes_with_a_line(changed: Guarded) -> None:
    changed.write(".ai/running/0042.json", f'{{"runs": [{{"uuid": "{RUN}"')
    assert changed.report().passed_with_trouble


@pytest.mark.skipif(os.name == "nt", reason="a shell closes the streams")
@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_closed_streams_pass(changed: Guarded, closed: str) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$@" {closed}', "sh", *hook_command("report")],
        input=json.dumps(report_input("failed" if closed == "2>&-" else "done")).encode(),
        env=changed.env(),
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert (changed.record or {}).get("refusals", 0) == 0


def test_an_answer_that_nobody_reads_passes(changed: Guarded) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        hook_command("report"),
        input=json.dumps(report_input()).encode(),
        env=changed.env(),
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=30,
        check=False,
    )
    os.close(writing)
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(os.name == "nt", reason="the slow git is a shell script")
@pytest.mark.parametrize("slow", ["rev-parse", "cat-file", "ls-files", "each"])
def test_a_git_that_is_too_slow_is_trouble(
    changed: Guarded, monkeypatch: pytest.MonkeyPatch, slow: str
) -> None:
    folder = changed.home / "bin"
    folder.mkdir()
    script = folder / "git"
    real = shutil.which("git")
    delay = "sleep 0.2" if slow == "each" else f'case "$*" in *{slow}*) exec sleep 60;; esac'
    script.write_text(f'#!/bin/sh\n{delay}\nexec {real} "$@"\n')
    script.chmod(0o755)
    before = json.loads((changed.root / ".ai/running/0042.json").read_text())["runs"][-1]["before"]
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    place = Place(changed.root, "0042", RUN)
    with pytest.raises(LoopError, match=r"too slow|took longer"):
        refusal(place, before, max_file_mb=10, all_git_s=0.6)
    assert changed.record is None


def test_the_script_is_the_package_s() -> None:
    settings = (SOURCE / "pyproject.toml").read_text(encoding="utf-8")
    assert 'loop-hook = "loop.hooks.entry:main"' in settings
