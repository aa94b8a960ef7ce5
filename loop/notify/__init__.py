"""Sending one message to one service, and judging by its own words whether it arrived."""
