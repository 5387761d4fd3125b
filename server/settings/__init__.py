"""What the daemon can be told, and what it makes of it."""
