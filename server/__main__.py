"""`python -m graphzero.server`, the same as `graphzero-server`."""

import sys

from graphzero.server import main

if __name__ == "__main__":
    sys.exit(main())
