"""Subcommands of `graphzero`, one module each."""
