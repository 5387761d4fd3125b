"""What `graphzero doctor` looks at: the machine, and how a dataset will be read on it."""
