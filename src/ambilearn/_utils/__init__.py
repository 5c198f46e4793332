"""Small helpers that do not import the rest of the library."""
