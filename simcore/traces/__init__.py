"""Chakra traces: made from recordings, texts and designs, summarised, drawn, and made anonymous for sharing."""
