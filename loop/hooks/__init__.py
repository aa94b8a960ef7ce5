"""What Claude Code's hooks call. They only judge, and when in doubt they let pass."""
