"""An automated loop between Claude Desktop (the Architect) and Claude Code (the Builder)."""

__version__ = "0.1.0"
