"""What one can do with a project, from whichever side: server, command line, hook, worker."""
