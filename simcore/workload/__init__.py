"""What must happen: one folder per kind of workload, each with its section of the document, and its Program."""
