from __future__ import annotations

import json

import msgspec
import pytest

from loop.core.config import Config, decode_config
from loop.errors import BadInput

DOCUMENTED = """
{"builder": {"command": null, "model": null, "max_turns": 20, "max_budget_usd": 2.0,
             "report": "schema", "inherit_api_key": false,
             "tools": "Agent,Bash,Edit,Glob,Grep,NotebookEdit,Read,Skill,Write", "extra_args": []},
 "limits": {"task_timeout_minutes": 30, "first_reply_s": 300, "silent_s": 900, "grace_s": 10,
            "max_attempts": 3},
 "budget": {"daily_usd": null}, "escalation": {"max_requeues": 3},
 "wait": {"default_s": 25, "max_s": 30}, "scan_seconds": 5, "on_shutdown": "leave",
 "checkpoint": {"mode": "commit", "keep_days": 30, "max_file_mb": 10}, "commit_prefix": "feat",
 "readme_guard": true,
 "verify": {"test_command": null, "lint_command": null, "timeout_s": 600},
 "context": {"max_bytes": 8192, "recent_lines": 20, "relevant_lines": 30},
 "progress": {"max_lines": 100},
 "notify": {"urls": [], "feishu": null, "dingtalk": null, "wecom": null, "serverchan": null,
            "events": null},
 "architect": {"chat_url": null}}
"""


def test_the_defaults_are_the_documented_ones_and_there_are_no_others() -> None:
    assert msgspec.to_builtins(Config()) == json.loads(DOCUMENTED)


def test_the_documented_settings_are_accepted_as_they_stand() -> None:
    assert decode_config(DOCUMENTED.encode()) == Config()


@pytest.mark.parametrize("data", [b"{}", b"\xef\xbb\xbf{}"])
def test_an_empty_object_sets_nothing(data: bytes) -> None:
    assert decode_config(data) == Config()


@pytest.mark.parametrize("data", [b"", b" \n"])
def test_an_empty_file_is_one_that_is_being_saved(data: bytes) -> None:
    with pytest.raises(BadInput, match="the file is empty"):
        decode_config(data)


def test_one_key_leaves_the_others_at_their_defaults() -> None:
    config = decode_config(b'{"builder": {"max_turns": 5}, "scan_seconds": 0.1}')
    assert (config.builder.max_turns, config.scan_seconds) == (5, 0.1)
    assert config.builder.report == "schema"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"bulder": {}}', "bulder: unknown name; allowed: builder, limits, budget"),
        (b'{"builder": {"modl": "x"}}', "builder.modl: unknown name; allowed: command, model"),
        (b'{"builder": {"max_turns": "20"}}', "builder.max_turns: give a whole number, not a text"),
        (b'{"builder": {"max_turns": 0}}', "builder.max_turns: give a whole number >= 1"),
        (b'{"builder": {"report": "json"}}', "builder.report: is not one of: 'marker', 'schema'"),
        (b'{"checkpoint": {"mode": "push"}}', "checkpoint.mode: .*commit"),
        (b'{"builder": {"extra_args": ["-x", "a\\nb"]}}', r"builder.extra_args\[1\]: .*line break"),
        (b'{"builder": {"tools": "Bash\\nEdit"}}', "builder.tools: .*line break"),
        (b'{"builder": {"model": "a\\r"}}', "builder.model: .*line break"),
        (b'{"limits": {"silent_s": -1}}', "limits.silent_s: give a number > 0"),
        (b'{"wait": {"max_s": 900}}', "wait.max_s: give a number <= 240"),
        (b'{"notify": {"feishu": 5}}', "notify.feishu: "),
        (b'{"on_shutdown": null}', "on_shutdown: "),
        (b'{"commit_prefix": "a\\u0000b"}', "commit_prefix: holds a NUL"),
        (b"[]", "must be a JSON object, as in {...}, not a list"),
        (b"{", "not valid JSON"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_wrong_setting_is_named(data: bytes, message: str) -> None:
    with pytest.raises(BadInput, match=message.replace("{...}", r"\{\.\.\.\}")):
        decode_config(data)
