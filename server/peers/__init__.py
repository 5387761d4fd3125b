"""Daemons of the other parts of a dataset: who they are, what is asked of them and answered."""
