"""Values that a search tries for parameters that several methods have."""

WEIGHTS = (0.01, 0.1, 0.5, 1.0, 2.0, 4.0)
RIDGES = (0.001, 0.01, 0.03, 0.05, 0.1, 0.3, 1.0)
NEIGHBOR_COUNTS = (5, 10, 20, 30)
