"""Examples of every kind of workload, by their plain name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "workload"))
