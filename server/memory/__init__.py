"""Who may have how much memory, and who waits for it."""
