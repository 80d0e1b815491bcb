"""What no design of a space beats: bounds on whole spaces, and the queue of jobs by their bounds."""
