"""Candidate sets: accept every usual form of ambiguous labels, check it, keep one form.

A candidate set :math:`S_i` is the set of labels that row *i* may have; exactly one of them is
right. There may be more information, such as three votes to one, "70 percent cat" or "not a dog",
or none at all. :func:`as_candidates` accepts many forms. The library uses only
:class:`CandidateSets`: the (row, label) pairs that exist, row by row, with optional weights.
"""

from ambilearn.candidates.forms import ANYTHING, AllBut, as_candidates
from ambilearn.candidates.sets import CandidateSets

__all__ = ["ANYTHING", "AllBut", "CandidateSets", "as_candidates"]
