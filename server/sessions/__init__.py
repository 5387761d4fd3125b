"""One trainer's session and the life of its requests."""
