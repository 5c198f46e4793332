from .calibration import Calibration as Calibration
from .sampling import AuditSample as AuditSample
from .sampling import draw_audit as draw_audit
from .sets import calibrate_candidates as calibrate_candidates
from .share import ShareRight as ShareRight
from .share import estimate_share_right as estimate_share_right
from .temperature import fit_temperature as fit_temperature
from .temperature import scale_scores as scale_scores
