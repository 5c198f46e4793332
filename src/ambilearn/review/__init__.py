"""A page on which a person goes through ambiguous rows and settles their labels."""

from ambilearn.review.page import render_review, write_review
from ambilearn.review.record import Review, ReviewRow

__all__ = ["Review", "ReviewRow", "render_review", "write_review"]
