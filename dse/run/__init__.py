"""A study set up, driven and checked: everything between the command line and the loop."""
