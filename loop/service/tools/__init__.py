"""The Architect's tools, without the protocol that carries them."""
