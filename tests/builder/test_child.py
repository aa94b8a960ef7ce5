"""What the Builder is given: prompt, descriptors, environment, signals, whatever the folder."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.builder.launching import Run


def test_the_prompt_arrives_byte_for_byte(run: Run) -> None:
    pattern = "line\u2028\u2029\x85 \ufeff\r\n\t\x01\x1b\U0001f600".encode() + b"\xff\xfe\x80"
    prompt = (pattern * (1 + 2**20 // len(pattern)))[: 2**20] + b"end"
    run.running("prompt").write_bytes(prompt)
    run.end(f"stdin:{run.folder}/stdin")
    assert (run.folder / "stdin").read_bytes() == prompt


def test_the_builder_inherits_three_descriptors_and_no_more(run: Run) -> None:
    command = run.prepare(f"fds:{run.folder}/fds")
    with (run.folder / "other").open("wb") as other:
        os.set_inheritable(other.fileno(), True)
        done = subprocess.run(
            command, env=run.environment, close_fds=False, capture_output=True, check=True
        )
    run.note(json.loads(done.stdout))
    run.wait_for_end()
    fds = json.loads((run.folder / "fds").read_text())
    assert fds == {
        "0": str(run.running("prompt")),
        "1": str(run.log),
        "2": str(run.folder / "logs" / "0042.err"),
    }


def test_the_builder_gets_exactly_the_launchers_environment_and_folder(run: Run) -> None:
    run.environment |= {"LINES": "one\ntwo", "EMPTY": "", "NAME": "\u00e4"}
    run.end(f"environment:{run.folder}/environment")
    entries = (run.folder / "environment").read_text().rstrip("\0").split("\0")
    assert dict(entry.split("=", 1) for entry in entries) == run.environment


def test_the_builder_starts_with_default_signals_although_the_shim_ignores_some(run: Run) -> None:
    run.argv_head = ["/bin/cp", "/proc/self/status", str(run.folder / "status")]
    assert run.end()["exit"] == 0
    lines = (run.folder / "status").read_text().splitlines()
    status = dict(line.split(":\t", 1) for line in lines)
    assert int(status["SigIgn"], 16) & 0x7FFFFFFF == 0  # the two above belong to the C library
    assert int(status["SigBlk"], 16) == 0


def test_a_folder_with_an_awkward_name_is_a_folder_like_others(tmp_path: Path) -> None:
    folder = tmp_path / "\u00e4 'b' \"$HOME\" \u2028 c"
    folder.mkdir()
    assert Run(folder).end(f"stdin:{folder}/copy", "exit:0")["exit"] == 0
    assert (folder / "copy").read_text() == "do it\n"
