"""Forks children that end as programs do, by sys.exit() and by running out. Argument: address."""

import os
import sys

import graphzero as gz

client = gz.connect(sys.argv[1])
batch = client.sample(range(50), [3])
for uses_client in (False, True):
    child = os.fork()
    if child == 0:
        if uses_client:
            client.sample(range(50), [3])
        sys.exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, status
client.sample(range(50), [3])
