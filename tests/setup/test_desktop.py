"""Our entry in Claude Desktop's file, which is full of other people's things."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.errors import LoopError
from loop.setup.desktop import (
    Change,
    config_places,
    entry,
    register,
    registered,
    unregister,
)
from loop.setup.json_text import remove_value, set_value

NAME = "architect_watcher_app"
ENTRY = {"command": "/py/bin/python", "args": ["-m", "loop", "serve", "--project", "/p/app"]}
NOW = datetime(2026, 7, 23, 10, 0, 0, tzinfo=UTC)

#: Servers and keys of others, in an order and a spelling that any rewriting would lose.
OTHERS = """{
    "zoom": 1.50,
    "mcpServers": {
        "other": {"command": "caf\\u00e9", "args": []},
        "Größe": {
            "command": "x"
        }
    },

    "big": 12345678901234567890, "list": [1,2]
}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Where the file is, in a folder of Claude Desktop that exists; the file itself does not."""
    folder = tmp_path / "Claude"
    folder.mkdir()
    return folder / "claude_desktop_config.json"


def backups(config: Path) -> list[str]:
    return sorted(path.name for path in config.parent.iterdir() if path.name != config.name)


def put_in(config: Path, content: str | bytes) -> str:
    """Give the file this content, register, and give back what it says then."""
    config.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert register(config, NAME, ENTRY, NOW).outcome == "written"
    return config.read_bytes().decode()


# Where the file is


def test_on_macos_it_is_in_application_support() -> None:
    places = config_places({}, "darwin", Path("/Users/me"))
    folder = "/Users/me/Library/Application Support/Claude"
    assert places == [Path(folder, "claude_desktop_config.json")]


def test_on_linux_it_is_in_the_config_folder_of_the_person() -> None:
    home = Path("/home/me")
    usual = [home / ".config/Claude/claude_desktop_config.json"]
    assert config_places({}, "linux", home) == usual
    assert config_places({"XDG_CONFIG_HOME": ""}, "linux", home) == usual
    assert config_places({"XDG_CONFIG_HOME": "not/absolute"}, "linux", home) == usual
    assert config_places({"XDG_CONFIG_HOME": "/cfg"}, "linux", home) == [
        Path("/cfg/Claude/claude_desktop_config.json")
    ]


def test_on_windows_the_store_apps_come_before_the_plain_folder(tmp_path: Path) -> None:
    local, roaming = tmp_path / "Local", tmp_path / "Roaming"
    env = {"LOCALAPPDATA": str(local), "APPDATA": str(roaming)}
    plain = roaming / "Claude" / "claude_desktop_config.json"
    assert config_places(env, "win32", tmp_path) == [plain]

    stores = [
        local / "Packages" / package / "LocalCache" / "Roaming" / "Claude"
        for package in ("AnthropicPBC.Claude_x1", "Claude_abc")
    ]
    for folder in stores:
        folder.mkdir(parents=True)
    (local / "Packages" / "Other_abc" / "LocalCache" / "Roaming" / "Claude").mkdir(parents=True)
    assert config_places(env, "win32", tmp_path) == [
        *(folder / "claude_desktop_config.json" for folder in stores),
        plain,
    ]


def test_on_windows_without_its_variables_the_usual_folders_count(tmp_path: Path) -> None:
    places = config_places({}, "win32", tmp_path)
    assert places == [tmp_path / "AppData/Roaming/Claude/claude_desktop_config.json"]


# What the entry says


def test_the_entry_starts_the_interpreter_itself_with_absolute_paths_and_no_shell() -> None:
    made = entry(Path("/with space/python"), Path("/my projects/app"))
    assert made["command"] == "/with space/python"
    assert made["args"] == ["-m", "loop", "serve", "--project", "/my projects/app"]


def test_the_interpreter_of_a_virtualenv_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "python").symlink_to("/usr/bin/env")
    assert entry(tmp_path / "python", tmp_path)["command"] == str(tmp_path / "python")


def test_a_path_that_json_can_not_hold_is_refused() -> None:
    with pytest.raises(LoopError, match="not valid UTF-8"):
        entry(Path("/python"), Path("/p/\udcff"))


# Putting it in


def test_without_a_folder_of_claude_nothing_is_written(tmp_path: Path) -> None:
    config = tmp_path / "Claude" / "claude_desktop_config.json"
    assert register(config, NAME, ENTRY) == Change(config, "no_desktop")
    assert unregister(config, NAME) == Change(config, "no_desktop")
    assert registered(config) == {}
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_does_not_exist_is_made_for_its_owner_only(config: Path) -> None:
    assert register(config, NAME, ENTRY, NOW) == Change(config, "written", None)
    assert json.loads(config.read_text()) == {"mcpServers": {NAME: ENTRY}}
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert config.read_text().endswith("}\n")
    assert backups(config) == []


@pytest.mark.parametrize("content", ["", " \r\n\t", "\ufeff", "\ufeff\n"])
def test_a_blank_file_counts_as_an_empty_object(config: Path, content: str) -> None:
    assert json.loads(put_in(config, content)) == {"mcpServers": {NAME: ENTRY}}


def test_what_belongs_to_others_stays_byte_for_byte(config: Path) -> None:
    after = put_in(config, OTHERS)
    ours = f""",
        "{NAME}": {{
            "command": "/py/bin/python",
            "args": [
                "-m",
                "loop",
                "serve",
                "--project",
                "/p/app"
            ]
        }}"""
    assert ours in after
    assert after.replace(ours, "") == OTHERS


def test_a_byte_order_mark_is_read_over_and_not_written(config: Path) -> None:
    content = OTHERS.encode("utf-8-sig")
    assert put_in(config, content).startswith("{")
    assert next(iter(config.parent.glob("*.loop-backup"))).read_bytes() == content


def test_windows_line_endings_stay(config: Path) -> None:
    after = put_in(config, OTHERS.replace("\n", "\r\n"))
    assert after.count("\n") == after.count("\r\n") > OTHERS.count("\n")


@pytest.mark.parametrize("unit", ["  ", "    ", "\t"])
def test_the_indentation_of_the_file_is_kept(config: Path, unit: str) -> None:
    before: dict[str, Any] = {"mcpServers": {"a": {"command": "é"}}}
    after = put_in(config, json.dumps(before, indent=unit, ensure_ascii=False))
    before["mcpServers"][NAME] = ENTRY
    assert after == json.dumps(before, indent=unit, ensure_ascii=False)


def test_a_file_on_one_line_stays_on_one_line(config: Path) -> None:
    before: dict[str, Any] = {"mcpServers": {"a": {}}, "b": 1}
    after = put_in(config, json.dumps(before))
    before["mcpServers"][NAME] = ENTRY
    assert after == json.dumps(before)
    assert put_in(config, '{"b": 1}') == json.dumps({"b": 1, "mcpServers": {NAME: ENTRY}})


def test_non_ascii_characters_of_ours_are_written_as_they_are(config: Path) -> None:
    register(config, NAME, {"command": "/Größe/py", "args": []}, NOW)
    assert '"/Größe/py"' in config.read_text(encoding="utf-8")


def test_the_second_time_nothing_is_done(config: Path) -> None:
    put_in(config, OTHERS)
    before, inode = config.read_bytes(), config.stat().st_ino
    again = register(config, NAME, ENTRY, NOW + timedelta(hours=1))
    assert again == Change(config, "unchanged")
    assert (config.read_bytes(), config.stat().st_ino) == (before, inode)
    assert len(backups(config)) == 1


def test_an_older_entry_is_brought_up_to_date_and_keeps_what_the_person_added(config: Path) -> None:
    old = {"args": ["old"], "env": {"LOOP_CLAUDE": "/opt/claude"}, "command": "old"}
    content = json.dumps({"mcpServers": {NAME: old, "other": {}}, "z": 1}, indent=2)
    after = json.loads(put_in(config, content))
    assert after["mcpServers"] == {NAME: {**old, **ENTRY}, "other": {}}
    assert list(after["mcpServers"]) == [NAME, "other"]


def test_a_link_stays_a_link_and_its_target_is_written(config: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.json"
    target.write_text(OTHERS)
    config.symlink_to(target)
    assert register(config, NAME, ENTRY, NOW).outcome == "written"
    assert config.is_symlink()
    assert json.loads(target.read_text())["mcpServers"][NAME] == ENTRY
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Claude", "dotfiles.json"]
    assert len(backups(config)) == 1


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640])
def test_the_mode_stays_and_the_backup_has_it_too(config: Path, mode: int) -> None:
    config.write_text(OTHERS)
    config.chmod(mode)
    backup = register(config, NAME, ENTRY, NOW).backup
    assert backup is not None
    assert [stat.S_IMODE(path.stat().st_mode) for path in (config, backup)] == [mode, mode]


# Backups


def test_the_file_as_it_was_is_kept_beside_it_under_its_time(config: Path) -> None:
    config.write_text(OTHERS)
    backup = register(config, NAME, ENTRY, NOW).backup
    assert backup == config.with_name("claude_desktop_config.json.2026-07-23T100000Z.loop-backup")
    assert backup.read_text() == OTHERS


def test_the_first_backup_and_the_last_four_stay_and_all_of_others(config: Path) -> None:
    config.write_text(OTHERS)
    others = [
        "claude_desktop_config.json.backup",
        "claude_desktop_config.json.2020-01-01T000000Z.loop-backup.keep",
        "x.2020-01-01T000000Z.loop-backup",
    ]
    for name in others:
        config.with_name(name).touch()
    for hour in range(7):
        register(config, f"architect_watcher_{hour}", ENTRY, NOW + timedelta(hours=hour))
    # The first is the only one from before us.
    kept = [
        f"claude_desktop_config.json.2026-07-23T{hour}0000Z.loop-backup"
        for hour in (10, *range(13, 17))
    ]
    assert backups(config) == sorted([*others, *kept])


def test_two_changes_in_one_second_leave_two_backups(config: Path) -> None:
    config.write_text(OTHERS)
    first = register(config, NAME, ENTRY, NOW).backup
    second = unregister(config, NAME, NOW).backup
    assert first is not None and second is not None
    assert first.read_text() == OTHERS
    assert NAME in second.read_text()
    assert backups(config) == [first.name, second.name]


# Refusing


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ("null", "line 1, column 1: expected an object {...}, found null"),
        ("\n [1]", "line 2, column 2: expected an object {...}, found a list"),
        ('"text"', "line 1, column 1: expected an object {...}, found a text"),
        ('{\n  "a": 1,\n}', "line 3, column 1: "),
        ('{"a": 1} x', "line 1, column 10: Extra data"),
        ('{"mcpServers": {', "line 1, column 17: "),
        ('{\n// mine\n"a": 1}', "line 2, column 1: "),
        ('{"a": NaN}', "line 1, column 7: NaN is not JSON"),
        ('{"mcpServers": null}', "line 1, column 16: expected an object {...}, found null"),
        ('{"mcpServers": []}', "line 1, column 16: expected an object {...}, found a list"),
        ('{"mcpServers": {},\n "mcpServers": {}}', 'line 2, column 2: "mcpServers" stands there'),
        (f'{{"mcpServers": {{"{NAME}": 1,\n"{NAME}": 2}}}}', f'line 2, column 1: "{NAME}" stands'),
        (b'{"a":\n "\xff"}', "line 2, column 3: not UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "line 1, column 1: not UTF-8"),
        ("[" * 100_000, "line 1, column 1: not readable"),
    ],
)
@pytest.mark.parametrize(
    "action",
    [lambda config: register(config, NAME, ENTRY), lambda config: unregister(config, NAME)],
)
def test_a_file_that_can_not_be_understood_is_refused_with_the_place_and_left_alone(
    config: Path, content: str | bytes, where: str, action: Callable[[Path], Change]
) -> None:
    raw = content if isinstance(content, bytes) else content.encode()
    config.write_bytes(raw)
    with pytest.raises(LoopError) as error:
        action(config)
    message = str(error.value)
    assert message.startswith(f"{config}: {where}")
    assert "mend the file" in message
    assert "\n" not in message
    assert config.read_bytes() == raw
    assert backups(config) == []


def test_a_read_only_file_is_not_replaced(config: Path) -> None:
    config.write_text(OTHERS)
    config.chmod(0o400)
    with pytest.raises(LoopError, match="read-only; make it writable"):
        register(config, NAME, ENTRY)
    assert config.read_text() == OTHERS
    assert backups(config) == []


def test_a_read_only_file_that_needs_no_change_is_no_error(config: Path) -> None:
    put_in(config, OTHERS)
    config.chmod(0o400)
    assert register(config, NAME, ENTRY).outcome == "unchanged"


@pytest.mark.parametrize("kind", ["folder", "circle", "dangling"])
def test_what_is_no_file_is_an_error_of_one_line(config: Path, kind: str, tmp_path: Path) -> None:
    if kind == "folder":
        config.mkdir()
    else:
        config.symlink_to(config if kind == "circle" else tmp_path / "gone" / "file")
    with pytest.raises(LoopError) as error:
        register(config, NAME, ENTRY)
    assert str(error.value).startswith(f"{config}: can't be ")
    assert "\n" not in str(error.value)
    assert backups(config) == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
@pytest.mark.parametrize("room_bytes", [0, len(OTHERS.encode()) + 10])
def test_a_disk_without_room_leaves_the_file_and_its_folder_as_they_were(
    config: Path, room_bytes: int
) -> None:
    import resource

    config.write_text(OTHERS, encoding="utf-8")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room_bytes, hard))
    try:
        with pytest.raises(LoopError, match="File too large") as error:
            register(config, NAME, ENTRY)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "\n" not in str(error.value)
    assert config.read_text(encoding="utf-8") == OTHERS
    assert backups(config) == []


# Taking it out


@pytest.mark.parametrize(
    "content",
    [OTHERS, OTHERS.replace("\n", "\r\n"), '{"mcpServers": {"a": {}}}', '{"mcpServers": {}}', "[]"],
)
def test_taking_out_gives_back_the_file_of_before(config: Path, content: str) -> None:
    if content == "[]":
        content = '{\n  "mcpServers": {}\n}'
    put_in(config, content)
    assert unregister(config, NAME, NOW).outcome == "written"
    assert config.read_bytes().decode() == content


def test_taking_out_what_is_not_there_does_nothing(config: Path) -> None:
    assert unregister(config, NAME) == Change(config, "unchanged")
    assert not config.exists()
    config.write_bytes(OTHERS.encode("utf-8-sig"))
    assert unregister(config, NAME) == Change(config, "unchanged")
    assert config.read_bytes() == OTHERS.encode("utf-8-sig")
    assert backups(config) == []


def test_the_first_of_several_servers_can_be_taken_out(config: Path) -> None:
    config.write_text(json.dumps({"mcpServers": {NAME: ENTRY, "b": {}, "c": {}}}, indent=2))
    unregister(config, NAME, NOW)
    assert config.read_text() == json.dumps({"mcpServers": {"b": {}, "c": {}}}, indent=2)


# What is there already


def test_registered_servers_are_told_with_their_folders(config: Path) -> None:
    servers = {
        NAME: ENTRY,
        "architect_watcher_odd": {"args": "x"},
        "architect_watcher_js": {"command": "node", "args": ["/p/architect_watcher.js"]},
        "other": ENTRY,
    }
    config.write_text(json.dumps({"mcpServers": servers}))
    assert registered(config) == {
        NAME: Path("/p/app"),
        "architect_watcher_odd": None,
        "architect_watcher_js": None,
    }


def test_registered_servers_of_a_damaged_file_are_an_error(config: Path) -> None:
    config.write_text("{")
    with pytest.raises(LoopError, match="line 1, column 2"):
        registered(config)


# The text of any JSON

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab\"\\é{}[],: "), inner),
    max_leaves=8,
)  # fmt: skip
objects = st.dictionaries(st.text('ab"\\é{},:'), values, max_size=4)
servers = st.none() | st.dictionaries(st.text('ab"\\é{},:'), values, max_size=3)


@given(
    top=objects,
    inner=servers,
    value=values,
    indent=st.sampled_from([None, 0, 2, 4, "\t"]),
    ascii_only=st.booleans(),
)
def test_setting_and_removing_changes_nothing_but_the_member(
    top: dict[str, Any],
    inner: dict[str, Any] | None,
    value: Any,
    indent: int | str | None,
    ascii_only: bool,
) -> None:
    if inner is not None:
        top = {**top, "mcpServers": inner}
    text = json.dumps(top, indent=indent, ensure_ascii=ascii_only)
    expected = {**top, "mcpServers": {**(inner or {}), "ours": value}}
    changed = set_value(text, ["mcpServers", "ours"], value)
    assert json.loads(changed) == expected
    assert list(json.loads(changed)) == list(expected)
    assert set_value(changed, ["mcpServers", "ours"], value) == changed
    back = remove_value(changed, ["mcpServers", "ours"])
    if inner is None:
        assert json.loads(back) == {**top, "mcpServers": {}}
    else:
        assert back == text
