from __future__ import annotations

import json

import msgspec
import pytest

from loop.core.address import chat_link
from loop.core.checks import convert
from loop.core.config import Config, Notify, Webhook, decode_config
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
            "desktop": true, "events": null},
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
        (b'{"notify": {"feishu": 5}}', "notify.feishu: give a text or an object"),
        (
            b'{"notify": {"feishu": {"url": "x"}}}',
            "feishu.url: unknown name; allowed: webhook, sec",
        ),
        (b'{"notify": {"dingtalk": {"secret": "x"}}}', "notify.dingtalk.webhook: is required"),
        (b'{"notify": {"feishu": "abc"}}', "notify.feishu: is no address"),
        (b'{"notify": {"feishu": ""}}', "notify.feishu: is no address"),
        (b'{"notify": {"wecom": {"webhook": "https://[a"}}}', "notify.wecom.webhook: is no addr"),
        (b'{"notify": {"wecom": "http://example.com/x"}}', "notify.wecom: goes unencrypted"),
        (b'{"notify": {"wecom": "https://u:p@a/b"}}', "notify.wecom: holds a user or a password"),
        (b'{"notify": {"wecom": {"webhook": "https://a/b", "secret": "s"}}}', "wecom.secret: "),
        (b'{"notify": {"serverchan": "key"}}', "notify.serverchan: is no SendKey"),
        (b'{"notify": {"serverchan": {"sendkey": 5}}}', "notify.serverchan.sendkey: give a text"),
        (b'{"notify": {"urls": ["slack"]}}', r"notify.urls\[0\]: is no address of apprise"),
        (
            b'{"notify": {"events": ["success", "done"]}}',
            r"notify.events\[1\]: unknown name; allowed: escalation, needs_input, .*, task_done",
        ),
        (b'{"notify_webhook": "https://a/b", "notify_type": "slack"}', "notify_type: is not one"),
        (b'{"notify_webhook": 5}', "notify_webhook: give a text"),
        (b'{"notify_webhook": "http://a/b"}', "notify_webhook: goes unencrypted"),
        (b'{"notify_webhook": "x", "notify_type": "serverchan"}', "notify_webhook: is no SendKey"),
        (b'{"architect": {"chat_url": "https://claude.ai/new"}}', "architect.chat_url: give the"),
        (b'{"architect": {"chat_url": "claude://x/chat/a"}}', "architect.chat_url: give the"),
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


def test_a_service_is_given_by_a_text_or_by_an_object() -> None:
    short = decode_config(b'{"notify": {"feishu": "https://a/b", "serverchan": "SCT1"}}').notify
    long = decode_config(
        b'{"notify": {"feishu": {"webhook": "https://a/b"}, "serverchan": {"sendkey": "SCT1"}}}'
    ).notify
    assert short.webhook("feishu") == long.webhook("feishu") == Webhook(webhook="https://a/b")
    assert short.sendkey == long.sendkey == "SCT1"
    assert short.webhook("wecom") is None


@pytest.mark.parametrize(
    ("kind", "address"), [("feishu", "https://a/b"), ("serverchan", "sctp12tabc")]
)
def test_the_settings_of_another_system_are_put_where_ours_are(kind: str, address: str) -> None:
    theirs = {"notify_type": kind, "notify_webhook": address}
    assert decode_config(json.dumps(theirs).encode()).notify == convert({kind: address}, Notify)
    ours = theirs | {"notify": {kind: f"{address}1"}}
    assert decode_config(json.dumps(ours).encode()).notify == convert({kind: f"{address}1"}, Notify)
    assert decode_config(b'{"notify_type": "feishu", "notify_webhook": ""}').notify == Notify()
    untold = decode_config(b'{"notify_type": null, "notify_webhook": "https://a/b"}').notify
    assert untold == Notify(feishu="https://a/b")


def test_a_wrong_address_is_not_repeated() -> None:
    with pytest.raises(BadInput) as caught:
        decode_config(b'{"notify": {"feishu": "http://example.com/SECRET"}}')
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["https", "claude"])
def test_a_chat_is_known_by_its_address_in_the_browser_and_by_its_link(scheme: str) -> None:
    url = f"{scheme}://claude.ai/chat/0f-1"
    config = decode_config(json.dumps({"architect": {"chat_url": url}}).encode())
    assert config.architect.chat_url is not None
    assert chat_link(config.architect.chat_url) == "claude://claude.ai/chat/0f-1"
