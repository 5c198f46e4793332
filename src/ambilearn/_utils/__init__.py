"""Small helpers that know nothing of the rest of the library."""
