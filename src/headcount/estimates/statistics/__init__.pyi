from .statistics import Statistics as Statistics
from .statistics import summarise_batches as summarise_batches
