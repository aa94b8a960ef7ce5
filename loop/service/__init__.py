"""The asyncio process: the worker, the server, and what wakes them."""
