"""What a trainer gets: batches of graphs with types and without, and their layers."""
