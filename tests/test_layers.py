"""The shape of the code: arrows go down, and heavy libraries stay where they belong."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

_PACKAGE = Path(__file__).parent.parent / "loop"
_ORDER = [
    {"core"}, {"store"}, {"git", "notify"}, {"builder"}, {"actions"}, {"hooks", "service"},
    {"setup"}, {"cli"},
]  # fmt: skip
_RANK = {name: rank for rank, names in enumerate(_ORDER) for name in names}
_FILES = sorted(p for p in _PACKAGE.rglob("*.py") if p.parent != _PACKAGE)


@cache
def _imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return found


@pytest.mark.parametrize("path", _FILES, ids=lambda p: p.relative_to(_PACKAGE).as_posix())
def test_arrows_go_down_only(path: Path) -> None:
    layer = path.relative_to(_PACKAGE).parts[0]
    for name in _imports(path):
        parts = name.split(".")
        if parts[0] == "loop" and len(parts) > 1 and parts[1] in _RANK and parts[1] != layer:
            assert _RANK[parts[1]] < _RANK[layer], f"{layer} must not import {name}"


@pytest.mark.parametrize(
    ("library", "only"),
    [
        ("mcp", ["service/server.py"]),
        ("watchfiles", ["service/watcher.py"]),
        ("asyncio", ["service/"]),
    ],
)
def test_a_library_is_imported_only_where_it_belongs(library: str, only: list[str]) -> None:
    users = [
        path.relative_to(_PACKAGE).as_posix()
        for path in _FILES
        if any(name.split(".")[0] == library for name in _imports(path))
    ]
    assert users
    assert all(any(user.startswith(place) for place in only) for user in users), users


def test_the_core_does_no_input_and_no_output() -> None:
    doing = {"os", "subprocess", "socket", "threading", "shutil", "tempfile"}
    for path in sorted((_PACKAGE / "core").glob("*.py")):
        used = {name.split(".")[0] for name in _imports(path)} & doing
        assert not used, f"{path.name} imports {used}"


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("loop.hooks.entry", ["json", "subprocess", "asyncio", "mcp", "msgspec", "pydantic"]),
        (
            "loop.hooks.shift",
            ["asyncio", "mcp", "pydantic", "tempfile", "socket", "psutil", "loop.core.mask"],
        ),
        ("loop.__main__", ["asyncio", "mcp", "watchfiles", "pydantic", "rich"]),
        ("loop.actions.observer", ["asyncio", "mcp", "watchfiles", "pydantic"]),
    ],
)
def test_the_cheap_entry_points_stay_cheap(module: str, forbidden: list[str]) -> None:
    check = f"import sys, {module}; print(*(m for m in {forbidden!r} if m in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", check], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
