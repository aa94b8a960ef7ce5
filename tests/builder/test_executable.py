from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from loop.builder.executable import find_claude, older_than_needed, path_for, version_of
from loop.core.config import Builder, Config
from loop.errors import NotReady
from tests.claude_binary import find_claude as real_claude

PLACES = (
    ".local/bin/claude", ".claude/local/claude", ".npm-global/bin/claude", ".volta/bin/claude",
    ".bun/bin/claude", ".nvm/versions/node/v22.1.0/bin/claude",
)  # fmt: skip


@pytest.fixture
def no_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if claude-agent-sdk were not installed."""
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", None)


def make(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def env(tmp_path: Path, **more: str) -> dict[str, str]:
    (tmp_path / "bin").mkdir(exist_ok=True)
    return {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home"), **more}


def test_the_settings_come_first_then_the_environment_then_the_path(tmp_path: Path) -> None:
    configured, named, on_path = (make(tmp_path / n / "claude") for n in ("c", "n", "bin"))
    make(tmp_path / "home/.local/bin/claude")
    config = Config(builder=Builder(command=str(configured)))
    both = env(tmp_path, LOOP_CLAUDE=str(named))
    assert find_claude(config, both) == configured
    assert find_claude(Config(), both) == named
    assert find_claude(Config(), env(tmp_path)) == on_path
    on_path.unlink()
    assert find_claude(Config(), env(tmp_path)) == tmp_path / "home/.local/bin/claude"


def test_the_settings_may_name_a_command_on_the_path(tmp_path: Path) -> None:
    mine = make(tmp_path / "bin/my-claude")
    assert find_claude(Config(builder=Builder(command="my-claude")), env(tmp_path)) == mine


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.usefixtures("no_sdk")
def test_a_server_with_a_bare_path_looks_where_installers_put_it(
    tmp_path: Path, place: str
) -> None:
    there = make(tmp_path / "home" / place)
    assert find_claude(Config(), env(tmp_path)) == there


@pytest.mark.usefixtures("no_sdk")
def test_a_file_that_can_not_be_executed_is_passed_over(tmp_path: Path) -> None:
    make(tmp_path / "home/.local/bin/claude").chmod(0o644)
    (tmp_path / "home/.claude/local/claude").mkdir(parents=True)
    there = make(tmp_path / "home/.volta/bin/claude")
    assert find_claude(Config(), env(tmp_path)) == there


@pytest.mark.usefixtures("no_sdk")
def test_when_there_is_none_the_message_says_where_it_looked_and_what_to_set(
    tmp_path: Path,
) -> None:
    with pytest.raises(NotReady) as error:
        find_claude(Config(), env(tmp_path))
    text = str(error.value)
    assert error.value.kind == "no_claude"
    for part in ("PATH", str(tmp_path / "home/.local/bin"), "/usr/local/bin", "builder.command"):
        assert part in text
    assert "\n" not in text


@pytest.mark.parametrize("source", ["builder.command", "LOOP_CLAUDE"])
def test_a_named_executable_that_is_none_is_an_error_and_nothing_else_is_taken(
    tmp_path: Path, source: str
) -> None:
    make(tmp_path / "bin/claude")
    config = Config(builder=Builder(command="/no/claude" if source == "builder.command" else None))
    with pytest.raises(NotReady, match=f"^{source} is /no/claude, which is no executable file$"):
        find_claude(config, env(tmp_path, LOOP_CLAUDE="/no/claude"))


def test_the_copy_inside_the_sdk_is_the_last_resort(tmp_path: Path) -> None:
    assert find_claude(Config(), env(tmp_path)).parent.name in {"_bundled", "bin"}


def test_the_real_one_says_its_version() -> None:
    version = version_of(real_claude())
    assert version is not None
    assert not older_than_needed(version)


def test_what_is_no_claude_has_no_version(tmp_path: Path) -> None:
    assert version_of(tmp_path / "none") is None
    assert version_of(make(tmp_path / "fails", "#!/bin/sh\nexit 3\n")) is None
    assert version_of(make(tmp_path / "silent", "#!/bin/sh\n")) is None


def test_versions_are_compared_by_number() -> None:
    assert older_than_needed("1.0.128")
    assert older_than_needed("2.0.99")
    assert not older_than_needed("2.1.0")
    assert not older_than_needed("2.1.332")
    assert not older_than_needed("10.0.0")


def test_a_claude_made_for_node_finds_node_where_it_lies_beside_its_links(tmp_path: Path) -> None:
    there = tmp_path / "home/.nvm/versions/node/v22.1.0"
    script = make(there / "lib/node_modules/claude/cli.js", "#!/usr/bin/env node\n")
    (there / "bin").mkdir()
    (there / "bin/claude").symlink_to("../lib/node_modules/claude/cli.js")
    make(there / "bin/node")
    link = tmp_path / "home/.local/bin/claude"
    link.parent.mkdir(parents=True)
    link.symlink_to(there / "bin/claude")
    path = path_for(link, env(tmp_path)).split(os.pathsep)
    assert path[0] == str(tmp_path / "bin")
    assert shutil.which("node", path=os.pathsep.join(path)) == str(there / "bin/node")
    assert str(script.parent) in path


@pytest.mark.parametrize("place", [".nvm/versions/node/v22.1.0/bin", ".volta/bin", ".asdf/shims"])
def test_a_claude_made_for_node_finds_node_in_the_usual_places(tmp_path: Path, place: str) -> None:
    claude = make(tmp_path / "home/.npm-global/bin/claude", "#!/usr/bin/env node\n")
    node = make(tmp_path / "home" / place / "node")
    assert shutil.which("node", path=path_for(claude, env(tmp_path))) == str(node)


def test_a_node_on_the_path_and_a_claude_that_needs_none_change_nothing(tmp_path: Path) -> None:
    make(tmp_path / "home/.volta/bin/node")
    claude = make(tmp_path / "home/.local/bin/claude")
    plain = env(tmp_path)
    assert path_for(claude, plain) == f"{plain['PATH']}{os.pathsep}{claude.parent}"
    make(tmp_path / "bin/node")
    claude.write_text("#!/usr/bin/env node\n")
    assert path_for(claude, plain) == f"{plain['PATH']}{os.pathsep}{claude.parent}"
