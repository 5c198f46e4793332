"""Published methods of partial-label learning, one per file."""
