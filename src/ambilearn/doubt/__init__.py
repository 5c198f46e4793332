"""Find rows whose labels are probably wrong.

Outputs on the training rows cannot reveal a wrong label, because the classifier was fitted to it.
*Held-out* outputs, of a classifier that was fitted without the row, can.
"""

from ambilearn.doubt.find import find_doubtful
from ambilearn.doubt.result import Doubt, LabelDoubt

__all__ = ["Doubt", "LabelDoubt", "find_doubtful"]
