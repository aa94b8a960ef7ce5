"""Notifications beside real workers: nothing waits for them, nothing is lost with a process."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from tests.notify.group import Group, group, nobody
from tests.relay.shop import Shop, comes_to, queue, until

#: Seconds; a client waits 2 s before it kills. More here only for a machine that is busy.
_GONE_S = 1.5 + 3.0


@pytest.fixture
def there() -> Iterator[Group]:
    with group() as made:
        yield made


def test_services_that_hang_refuse_or_are_dead_delay_neither_a_task_nor_the_end(
    shop: Shop, there: Group
) -> None:
    with nobody() as dead, group() as refusing:
        refusing.says({"code": 19021, "msg": "sign match fail"})
        shop.configure(
            notify={"dingtalk": there.address, "wecom": dead, "feishu": refusing.address}
        )
        there.free.clear()
        with shop.server() as server:
            ids = [queue(server, f"Task {n}") for n in range(4)]
            for task_id in ids:
                assert comes_to(server, task_id, "success")
            there.has(1)  # and is kept without an answer
            until(lambda: failures(shop), "the refusal is told")
            server.close_stdin()
            server.process.wait(_GONE_S)
        assert len(there.came) == 1
        assert {f["service"] for f in failures(shop)} == {"feishu"}
        assert "sign match fail; check the secret" in shop.run("doctor", code=None)
        told = shop.run("timeline") + shop.run("status") + shop.run("timeline", "--json")
        assert "notify   ✗" in told and "sign match fail" in told
        assert "SECRET0" not in told + shop.project.timeline.read_text()


def failures(shop: Shop) -> list[dict[str, str]]:
    return [e for e in shop.events() if e["event"] == "notification_failed"]


def test_when_the_owner_is_killed_while_it_sends_the_other_server_tells_all_of_it(
    shop: Shop, there: Group
) -> None:
    shop.configure(notify={"dingtalk": there.address})
    there.free.clear()
    with shop.server() as one, shop.server() as two:
        assert comes_to(one, queue(one, "First"), "success")
        there.has(1)
        assert comes_to(one, queue(one, "Second"), "success")
        owner = one if shop.owner() == one.process.pid else two
        os.kill(owner.process.pid, signal.SIGKILL)
        there.free.set()
        there.has(2)
    assert "1: First" in there.texts[0]
    assert "1: First" in there.texts[1] and "2: Second" in there.texts[1]


def test_what_other_processes_do_is_told_and_a_draining_worker_tells_all_before_it_ends(
    shop: Shop, there: Group
) -> None:
    shop.configure(notify={"dingtalk": there.address, "events": ["paused", "all_done"]})
    with shop.server():
        until(shop.owner, "the server owns the queue")
        shop.run("pause", "lunch")
        assert there.has(1) == ["⏸️ paused · project\nlunch"]
    shop.run("resume")
    for n in range(3):
        shop.run("add", f"Task {n}")
    shop.run("work", "--drain")
    assert there.texts[1:] == ["🏁 all_done · project\n3 succeeded, 0 failed"]
