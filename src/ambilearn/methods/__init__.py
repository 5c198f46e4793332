"""Methods of partial-label learning, one per file; what several share begins with _.

A line in ``ambilearn/__init__.pyi`` announces a method to everything else.
"""
