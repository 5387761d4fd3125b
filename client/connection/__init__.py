"""From a daemon's address to sessions that outlive the daemon."""
