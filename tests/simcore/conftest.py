"""Its place puts this folder on the import path, so that the tests in the folders below find `idle_links`."""
