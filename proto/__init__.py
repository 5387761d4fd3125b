"""The wire contract, and the code generated from it when the package is built."""
