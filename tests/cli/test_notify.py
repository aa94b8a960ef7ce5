"""test-notify and notify."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from loop.store.paths import Project
from tests.cli.conftest import Called, settled
from tests.notify.group import Group, group

Loop = Callable[..., Called]


@pytest.fixture
def there() -> Iterator[Group]:
    with group() as made:
        yield made


def configure(project: Project, **services: object) -> None:
    project.config.write_text(json.dumps({"notify": {"desktop": False} | services}))


def test_each_service_says_in_a_line_what_it_thinks_of_a_test_message(
    loop: Loop, project: Project, there: Group
) -> None:
    configure(project, dingtalk=there.address, feishu=there.address)
    called = loop("test-notify")
    assert called.code == 1
    feishu, dingtalk = called.out.splitlines()
    assert dingtalk == f"✓  dingtalk  http://127.0.0.1:{there.port}/•••  ok"
    assert feishu.startswith(f"✗  feishu    http://127.0.0.1:{there.port}/•••  the answer doesn't")
    assert "SECRET0" not in called.out + called.err
    assert there.texts[0].startswith("🔔 test · shop\n")


def test_the_json_says_the_same_and_all_well_is_exit_0(
    loop: Loop, project: Project, there: Group
) -> None:
    configure(project, wecom={"webhook": there.address})
    called = loop("test-notify", "--json")
    where = f"http://127.0.0.1:{there.port}/\u2022\u2022\u2022"
    row = {"service": "wecom", "where": where, "ok": True, "said": "ok"}
    assert (called.code, called.json) == (0, {"ok": True, "services": [row]})


def test_nothing_configured_is_said_with_what_to_do(loop: Loop, project: Project) -> None:
    configure(project)
    called = loop("test-notify")
    assert (called.code, called.out) == (1, "")
    assert "nothing is configured: set notify.feishu" in called.err
    project.config.write_text('{"notify": {"feishu": "x"}}')
    called = loop("test-notify")
    assert called.code == 1
    assert ".ai/config.json: notify.feishu: is no address" in called.err


def test_what_is_due_is_sent_by_hand(loop: Loop, project: Project, there: Group) -> None:
    configure(project, dingtalk=there.address)
    settled(project, "Old", "success", "success")
    assert loop("notify").out == "nothing is left to send\n"  # and begins here
    settled(project, "New", "failure", "turn_limit")
    assert loop("notify", "--json").json == {"through": True, "late": []}
    (text,) = there.texts
    assert "❌ failure · 2: New" in text and "About New" in text and "Old" not in text


def test_a_failed_notification_shows_in_status_until_the_service_takes_one(
    loop: Loop, project: Project, there: Group
) -> None:
    configure(project, dingtalk=there.address)
    loop("notify")
    settled(project, "New", "success", "success")
    there.says({"errcode": 310000, "errmsg": "keywords not in content"})
    loop("notify")
    assert (
        "dingtalk: keywords not in content (310000); try `loop test-notify`" in loop("status").out
    )
    failed = loop("status", "--json").json["notification_failed"]
    assert (failed["service"], failed["reason"]) == (
        "dingtalk", "keywords not in content (310000)",
    )  # fmt: skip
    there.says({"errcode": 0, "errmsg": "ok"})
    assert loop("test-notify").code == 0
    assert loop("status", "--json").json["notification_failed"] is None
