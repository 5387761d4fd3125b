"""The one source of numbers: what is counted, and the message that everyone reads it from."""
