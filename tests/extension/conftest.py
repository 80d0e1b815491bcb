"""The example package is a project of its own: nothing in it is a test of this one."""

collect_ignore = ["dse-example"]
