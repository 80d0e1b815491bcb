"""What no design beats: bounds of one design, of many at once, and estimates beside them."""
