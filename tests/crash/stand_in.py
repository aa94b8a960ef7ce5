#!/usr/bin/env python3
"""Stands in for Claude Code where hundreds of runs are needed: reports success.

Its launches are lines of the file named by STAND_IN_LAUNCHES, its report is what a run that did
something would say; it writes one new file into the project. With STAND_IN_LEAVES it leaves a
process behind, in a session of its own.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

with Path(os.environ["STAND_IN_LAUNCHES"]).open("a", encoding="utf-8") as launches:
    launches.write(os.environ["LOOP_TASK_ID"] + " " + os.environ["LOOP_RUN"] + "\n")
sys.stdin.read()
Path(f"made-by-{os.environ['LOOP_TASK_ID']}.txt").write_text("x\n", encoding="utf-8")
if "STAND_IN_LEAVES" in os.environ:
    null = subprocess.DEVNULL
    subprocess.Popen(["sleep", "60"], stdin=null, stdout=null, stderr=null, start_new_session=True)
session = sys.argv[sys.argv.index("--session-id") + 1] if "--session-id" in sys.argv else "s"
report = {"outcome": "done", "summary": "Did it."}
for event in (
    {"type": "system", "subtype": "init", "session_id": session},
    {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "Did."}]}},
    {
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
    },
):
    print(json.dumps(event), flush=True)
