"""The person's side: one file a group of commands. They call actions and hold no rules."""
