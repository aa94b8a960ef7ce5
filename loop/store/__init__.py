"""The disk: a project's `.ai/` folder. Synchronous; every transition under one short lock."""
