"""The shift: an interactive Claude Code session that works the queue, one task after another.

begin.py binds the session and take.py claims for it, report.py is what the session says of a task,
settle.py what comes of each of its stops, over.py the end of it.
"""
