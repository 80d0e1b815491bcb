"""Several runs side by side: their fronts together, the settings that differ, and what each key does to the front."""

from dse.report.runs.json_form import runs_document
from dse.report.runs.screen import print_runs
from dse.report.runs.together import RunSide, Together, set_side_by_side

__all__ = ["RunSide", "Together", "print_runs", "runs_document", "set_side_by_side"]
