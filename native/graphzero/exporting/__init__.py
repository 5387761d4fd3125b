"""Datasets back into files that other programs read."""
