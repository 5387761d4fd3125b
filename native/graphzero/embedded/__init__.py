"""Graphs and features in this process, without a daemon."""
