"""Serve a review on this machine: journal, requests, and the page that learns.

Used by ``ambilearn review --serve``. The server is that of the standard library: one person uses
it, from the same machine, so that no further dependency is needed.
"""
