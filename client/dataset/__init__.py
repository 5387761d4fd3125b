"""The dataset that a client uses: what the daemon says about it, and its files."""
