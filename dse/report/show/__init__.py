"""One design of a study on one screen: what it is, how long, how much, how sure, and what lies beside it."""

from dse.report.show.facts import Shown, gather_facts
from dse.report.show.json_form import shown_document
from dse.report.show.screen import print_shown

__all__ = ["Shown", "gather_facts", "print_shown", "shown_document"]
