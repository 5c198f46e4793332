from .temperature import fit_temperature as fit_temperature
from .temperature import scale_scores as scale_scores
