"""What the client needs of its own process: threads, a clock and the handling of forks."""
