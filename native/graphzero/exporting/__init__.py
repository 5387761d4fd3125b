"""Writes datasets as files that other programs read."""
