#!/usr/bin/env python3
"""Stands in for Claude Code where real processes count, not what they say: reports success.

The folder STAND_IN_FOLDER is its script: `launches` gets a line for each start; while `hold` is
there it goes on; with `leave` it leaves a process behind; `say.json` holds the result line to give
instead of the one of a success.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

folder = Path(os.environ["STAND_IN_FOLDER"])
line = f"{os.environ['LOOP_TASK_ID']} {os.environ['LOOP_RUN']}\n"
with (folder / "launches").open("a", encoding="utf-8") as launches:
    launches.write(line)
sys.stdin.read()
session = sys.argv[sys.argv.index("--session-id") + 1] if "--session-id" in sys.argv else "s"
first = {"type": "system", "subtype": "init", "session_id": session}
reply = {
    "type": "assistant",
    "message": {"id": "m", "content": [{"type": "text", "text": "Usage limit reached|1999999999"}]},
}
report = {"outcome": "done", "summary": "Did it."}
result = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "terminal_reason": "completed",
    "session_id": session,
    "num_turns": 1,
    "total_cost_usd": 0.01,
    "permission_denials": [],
    "structured_output": report,
    "result": json.dumps(report),
}
if (folder / "leave").exists():
    subprocess.Popen(
        ["sleep", "60"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
print(json.dumps(first), flush=True)
print(json.dumps(reply), flush=True)
deadline = time.monotonic() + 60
while (folder / "hold").exists() and time.monotonic() < deadline:
    time.sleep(0.01)
if (folder / "say.json").exists():
    result = json.loads((folder / "say.json").read_text(encoding="utf-8"))
print(json.dumps(result), flush=True)
sys.exit(1 if result.get("is_error") else 0)
