"""Datasets with types from tables whose rows refer to each other."""
