"""The campaign that feeds ambilearn anything and kills it anywhere: ``make torture``."""
