"""`python -m graphzero`, the same as `graphzero`."""

import sys

from graphzero._cli import main

sys.exit(main())
