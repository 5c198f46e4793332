"""The ridge classifier inside the kernel methods, exact and by landmarks."""
