"""What a stranger installs: the wheel in an environment of its own, outside the checkout."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
import zipfile
from collections.abc import Set
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from loop import __version__

_ROOT = Path(__file__).parent.parent
#: Nothing is compiled that nobody imports.
_QUICK = {"PIP_NO_COMPILE": "1"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check",
         "--no-deps", "--wheel-dir", folder, _ROOT],
        check=True, capture_output=True, timeout=100, env=os.environ | _QUICK,
    )  # fmt: skip
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_every_module_and_template_and_nothing_else(wheel: Path) -> None:
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    modules = {p.relative_to(_ROOT).as_posix() for p in (_ROOT / "loop").rglob("*.py")}
    templates = {
        f"loop/{p.relative_to(_ROOT).as_posix()}"
        for p in (_ROOT / "scaffolding").rglob("*")
        if p.is_file()
    }
    assert held == modules | templates | {"loop/py.typed"}


def _needed_by(there: Distribution, extras: Set[str], found: dict[str, Distribution]) -> None:
    """Adds what a package says it needs, and what that needs in turn, as it is installed here."""
    for wanted in map(Requirement, there.requires or []):
        marker = wanted.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in {"", *extras}):
            continue
        name = canonicalize_name(wanted.name)
        if name in found and not wanted.extras:
            continue
        found[name] = distribution(name)
        assert wanted.specifier.contains(found[name].version, prereleases=True), wanted
        _needed_by(found[name], wanted.extras, found)


def _install(wheel: Path, folder: Path) -> None:
    """Makes an environment of the wheel and of what it says it needs, and of nothing else."""
    venv.create(folder, with_pip=False, symlinks=True)
    installed = subprocess.run(
        [sys.executable, "-m", "pip", "--python", folder / "bin/python", "install", "--quiet",
         "--disable-pip-version-check", "--no-deps", wheel],
        capture_output=True, text=True, timeout=110, check=False, env=os.environ | _QUICK,
    )  # fmt: skip
    assert installed.returncode == 0, installed.stderr
    (packages,) = folder.glob("lib/python*/site-packages")
    (metadata,) = packages.glob("claude_automation_loop-*.dist-info")
    needed: dict[str, Distribution] = {}
    _needed_by(Distribution.at(metadata), set(), needed)
    for there in needed.values():
        for name in {path.parts[0] for path in there.files or []} - {"..", "__pycache__"}:
            (packages / name).symlink_to(str(there.locate_file(name)))


def test_the_installed_wheel_sets_a_project_up_outside_the_checkout(
    wheel: Path, tmp_path: Path
) -> None:
    _install(wheel, tmp_path / "venv")
    project = tmp_path / "project"
    project.mkdir()
    env = {"PATH": os.defpath, "HOME": str(tmp_path / "home")}
    loop = tmp_path / "venv/bin/loop"
    subprocess.run([loop, "init"], cwd=project, env=env, check=True, capture_output=True)
    assert "loop:begin" in (project / "CLAUDE.md").read_text(encoding="utf-8")
    settings = json.loads((project / ".ai/builder.settings.json").read_text(encoding="utf-8"))
    assert any(rule.startswith("Edit(//") for rule in settings["permissions"]["allow"])
    shown = subprocess.run(
        [loop, "status", "--json"], cwd=project, env=env, check=True, capture_output=True
    )
    assert json.loads(shown.stdout)["counts"] == {
        "running": 0, "queued": 0, "blocked": 0, "settled": 0,
    }  # fmt: skip


def test_the_changelog_names_the_version_of_the_package() -> None:
    changelog = (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[([^\]]+)\]", changelog, re.MULTILINE)
    assert newest is not None
    assert newest[1] == __version__


def test_no_document_names_a_file_that_is_not_there() -> None:
    for document in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"):
        text = (_ROOT / document).read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", text):
            assert (_ROOT / target).exists(), f"{document}: {target}"


def test_every_code_path_that_the_architecture_names_is_there() -> None:
    text = (_ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for target in re.findall(r"`((?:core|store|git|builder|actions|service|setup)/\w+\.py)`", text):
        assert (_ROOT / "loop" / target).exists(), target
