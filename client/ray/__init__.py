"""What `graphzero.ray` has: daemons on the nodes of a Ray cluster."""
