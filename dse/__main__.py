"""`python -m dse`."""

from dse.cli import entry

if __name__ == "__main__":
    entry()
