"""A server that a desktop starts: hardly any PATH, `/` as its folder, Claude Code in the home."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.relay.shop import Shop, comes_to, queue


@pytest.mark.parametrize("place", [".local/bin", ".nvm/versions/node/v22.1.0/bin"])
def test_claude_code_is_found_where_people_have_it(shop: Shop, place: str) -> None:
    shop.configure(builder={"command": None})
    claude = Path(shop.env["HOME"]) / place / "claude"
    claude.parent.mkdir(parents=True)
    shutil.copy(Path(__file__).parent / "stand_in.py", claude)
    bare = {name: shop.env[name] for name in ("HOME", "STAND_IN_FOLDER", "PYTHONPATH")}
    shop = replace(shop, env=bare | {"PATH": "/usr/bin:/bin"})
    with shop.server() as server:
        assert comes_to(server, queue(server, "Work on"), "success")
    assert shop.launches() == ["1"]
    assert str(claude) in shop.run("doctor", code=None).replace("\n", "")
