"""The daemon as a process: its lock, its log, its limits, what it prints."""
