"""Robustness tests with invalid inputs and killed processes: ``make torture``."""
