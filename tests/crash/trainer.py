"""A trainer with the real client. Run as: python trainer.py ADDRESS NAME EPOCHS OPTIONS

Prints "EPOCH STEP DIGEST" for every batch, where the digest covers every byte of every tensor.
EPOCHS 0: until standard input is closed. OPTIONS is a JSON object with arguments for connect() and
loader(), and `keep`, the number of earlier batches that are kept beside the one in use.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sys
import threading
from collections import deque

import graphzero as gz


def digest(batch: gz.Batch) -> str:
    """The same for batches of the same bytes."""
    found = hashlib.blake2b(digest_size=16)
    for name in sorted(batch.keys()):
        array = batch[name].numpy()
        found.update(f"{name} {array.dtype} {array.shape};".encode())
        found.update(array.tobytes())
    return found.hexdigest()


def main() -> None:
    address, name, epochs, options = *sys.argv[1:3], int(sys.argv[3]), json.loads(sys.argv[4])
    stop = threading.Event()
    if not epochs:
        threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    client = gz.connect(address, **{"timeout": 300, **options.get("connect", {})})
    seed = int(hashlib.sha256(name.encode()).hexdigest()[:8], 16)
    defaults = {"fanout": [10, 5], "batch_size": 200, "shuffle": True, "seed": seed}
    loader = client.loader(None, **{**defaults, **options.get("loader", {})})
    kept: deque[gz.Batch] = deque(maxlen=options.get("keep", 0))
    for epoch in range(epochs) if epochs else itertools.count():
        for step, batch in enumerate(loader):
            print(epoch, step, digest(batch), flush=True)
            kept.append(batch)
            if stop.is_set():
                client.close()
                return


if __name__ == "__main__":
    main()
