"""The kernel ridge classifier of the methods, exact and with landmarks."""
