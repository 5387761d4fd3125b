"""`python -m graphzero.server`, the same as `graphzero-server`."""

import sys

from graphzero.server import main

sys.exit(main())
