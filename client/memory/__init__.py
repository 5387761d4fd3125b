"""Results as arrays and tensors over the shared memory in which the daemon put them."""
