"""Neighbor search, and the weighted graphs built from neighbors."""
