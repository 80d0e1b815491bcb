"""Its place puts this folder on the import path, so that the tests in the folders below find `tiny_spaces`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
