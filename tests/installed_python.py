"""An interpreter that has `loop` installed, as a person's has after `pipx install`."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path


def installed_python(folder: Path) -> Path:
    """Make a virtual environment in `folder` that finds this checkout and what it depends on.

    Hooks run isolated (`-I`): they see no `PYTHONPATH` and not the folder they are started in.
    """
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(folder)],
        stdin=subprocess.DEVNULL,
        check=True,
        timeout=60,
    )
    windows = os.name == "nt"
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    packages = folder / "Lib" if windows else folder / "lib" / version
    checkout = Path(__file__).parents[1]
    paths = [str(checkout), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    (packages / "site-packages" / "checkout.pth").write_text(
        "\n".join(dict.fromkeys(paths)), encoding="utf-8"
    )
    return folder / ("Scripts/python.exe" if windows else "bin/python")
