from .calibration import CALIBRATIONS as CALIBRATIONS
from .calibration import fit_calibrator as fit_calibrator
from .scorer import ScoredPool as ScoredPool
from .scorer import Scorer as Scorer
from .scorer import equal_scorers as equal_scorers
