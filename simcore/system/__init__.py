"""In which order: groups on dimensions, collectives in chunks, chunks in queues."""
