"""Datasets and their files: where they are, what they hold, how they are read and published."""
