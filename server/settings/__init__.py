"""The daemon's options, and the configuration that is made from them."""
