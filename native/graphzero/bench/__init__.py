"""What `graphzero bench` measures of a machine and a dataset, and what it says about it."""
