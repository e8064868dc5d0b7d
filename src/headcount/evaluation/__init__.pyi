from .evaluation import Evaluation as Evaluation
from .evaluation import Evaluations as Evaluations
from .run import evaluate as evaluate
from .search import GridSearch as GridSearch
from .significance import Comparison as Comparison
from .significance import compare as compare
from .summary import Summary as Summary
