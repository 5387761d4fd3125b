"""The daemon. Not part of this release yet; the command exists so that its name is taken."""

import sys


def main() -> int:
    print(
        "graphzero-server: the daemon is not part of this release yet; "
        "use graphzero.Graph and graphzero.FeatureStore inside your process.",
        file=sys.stderr,
    )
    return 1
