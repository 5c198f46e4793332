"""Confidences that agree with the share of correct labels.

:func:`calibrate_candidates` calibrates a method with the rows that have a single candidate.
:func:`draw_audit` draws rows for a person to check, and :func:`estimate_share_right` estimates the
share of correct labels from them. :func:`fit_temperature` and :func:`scale_scores` sharpen or
soften probabilities by one number.
"""

import lazy_loader

# __init__.pyi lists the public names. Each is imported when first used, so that the command line
# starts fast.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
