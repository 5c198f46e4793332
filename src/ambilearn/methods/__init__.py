"""Methods of partial-label learning, one per file; shared modules begin with _.

A line in ``ambilearn/__init__.pyi`` adds a method to the registry.
"""
