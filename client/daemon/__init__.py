"""The daemon as a whole: starting one, and calls that need no session."""
