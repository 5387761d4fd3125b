"""What is served: datasets, how their files are read, what is read ahead."""
