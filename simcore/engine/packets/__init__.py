"""The packet engine: switches with buffers, pauses and marks, and senders that react to them, event by event."""
