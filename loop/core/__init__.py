"""The rules, without any input or output: what a task, a run, an ending and a result are."""
