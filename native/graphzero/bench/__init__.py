"""What `graphzero bench` measures on a machine with a dataset, and what it concludes."""
