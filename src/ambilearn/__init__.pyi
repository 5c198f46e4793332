# The public names, and where they are defined. registry.py finds a method by its line here, and the
# command line, model files, experiments, docs and tests find it through registry.py.

from . import bridges as bridges
from . import candidates as candidates
from . import confidence as confidence
from . import crowd as crowd
from . import datasets as datasets
from . import features as features
from . import metrics as metrics
from . import selection as selection
from .bridges import candidates_from_prediction_sets as candidates_from_prediction_sets
from .bridges import candidates_from_top_k as candidates_from_top_k
from .bridges import soft_labels as soft_labels
from .bridges import to_sample_weights as to_sample_weights
from .candidates import ANYTHING as ANYTHING
from .candidates import AllBut as AllBut
from .candidates import CandidateSets as CandidateSets
from .candidates import as_candidates as as_candidates
from .confidence import find_doubtful as find_doubtful
from .crowd import CrowdClassifier as CrowdClassifier
from .crowd import Votes as Votes
from .crowd.votes import votes_to_candidates as votes_to_candidates
from .deep import DeepPLCL as DeepPLCL
from .methods.candidateclassifier import CandidateClassifier as CandidateClassifier
from .methods.ipal import IPAL as IPAL
from .methods.lalo import LALO as LALO
from .methods.plaggd import PLAGGD as PLAGGD
from .methods.plcl import PLCL as PLCL
from .methods.plcp import PLCP as PLCP
from .methods.plda import PLDA as PLDA
from .methods.plda import PLDATransformer as PLDATransformer
from .methods.plknn import PLKNN as PLKNN
from .methods.plstacking import PLStacking as PLStacking
from .methods.plvoting import PLVoting as PLVoting
from .methods.sure import SURE as SURE
from .review import ReviewSession as ReviewSession
from .selection import CandidateSearchCV as CandidateSearchCV

__version__: str
