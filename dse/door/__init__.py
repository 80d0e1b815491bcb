"""What a program or a notebook does with `import dse`: run a search, and look at what it came to."""
