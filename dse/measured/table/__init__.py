"""Tables of measured training iterations: files, the forms that tables have, cells, rows as designs."""
