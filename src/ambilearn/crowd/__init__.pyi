# The public names, and where they live.

from .classifier import CrowdClassifier as CrowdClassifier
from .evidence import Consensus as Consensus
from .evidence import consensus as consensus
from .report import AnnotatorReport as AnnotatorReport
from .report import report_annotators as report_annotators
from .skills import dawid_skene as dawid_skene
from .votes import Votes as Votes
