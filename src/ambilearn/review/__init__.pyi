from .page import Review as Review
from .page import ReviewRow as ReviewRow
from .page import render_review as render_review
from .page import write_review as write_review
from .session import ReviewSession as ReviewSession
