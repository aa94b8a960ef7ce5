"""Git, by plumbing: snapshots, checkpoints, differences. Standard library only, for the hooks."""
