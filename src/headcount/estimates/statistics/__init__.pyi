from .statistics import Statistics as Statistics
from .statistics import summarise_batches as summarise_batches
from .streams import BatchReader as BatchReader
from .streams import ScoreReader as ScoreReader
