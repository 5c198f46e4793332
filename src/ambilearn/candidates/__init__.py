"""Candidate sets: check ambiguous labels in all accepted forms and convert them to one form.

A candidate set :math:`S_i` is the set of labels that row *i* may have; exactly one of them is
right. Rows may have more information, such as three votes to one, "70 percent cat" or "not a dog",
or none. :func:`as_candidates` accepts many forms. The library uses only :class:`CandidateSets`:
a list of (row, label) pairs, row by row, with optional weights.
"""

from ambilearn.candidates.forms import as_candidates
from ambilearn.candidates.label_collections import ANYTHING, AllBut
from ambilearn.candidates.sets import CandidateSets

__all__ = ["ANYTHING", "AllBut", "CandidateSets", "as_candidates"]
