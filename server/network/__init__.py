"""How trainers reach the daemon, and what keeps their messages harmless."""
