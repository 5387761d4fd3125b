"""`python -m graphzero`, the same as `graphzero`."""

import sys

from graphzero.commands.cli import main

if __name__ == "__main__":
    sys.exit(main())
