"""In which order chunks visit the dimensions of a network and are served within one; how senders heed congestion."""
