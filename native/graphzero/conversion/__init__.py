"""Datasets from files, folders, objects of other libraries and random numbers."""
