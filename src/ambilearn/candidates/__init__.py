"""Candidate sets: accept every usual form of ambiguous labels, check it, keep one form.

A candidate set :math:`S_i` is the set of labels that row *i* may have; exactly one of them is
right. A row may know more: three votes to one, "seventy per cent cat", "not a dog", or nothing at
all. Users write them in many forms (:func:`as_candidates`). Everything inside the library sees
only :class:`CandidateSets`: the (row, label) pairs that exist, row by row, and where candidates
are not all alike a weight for each.
"""

from ambilearn.candidates.forms import ANYTHING, AllBut, as_candidates
from ambilearn.candidates.sets import CandidateSets

__all__ = ["ANYTHING", "AllBut", "CandidateSets", "as_candidates"]
