"""Requests to the daemon: from what users ask for to messages, and the answer as a future."""
