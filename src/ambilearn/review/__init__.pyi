from .page import render_review as render_review
from .page import write_review as write_review
from .record import Review as Review
from .record import ReviewRow as ReviewRow
from .session import ReviewSession as ReviewSession
