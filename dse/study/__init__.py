"""The loop of a study, its journal, and its sharing among several drivers."""
