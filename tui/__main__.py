"""``python -m tui`` is ``ponder``."""

import sys

from tui.cli.main import main

sys.exit(main())
