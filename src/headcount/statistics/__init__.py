"""Statistics of items that merge: data larger than memory, in files and on clusters."""

from __future__ import annotations

from headcount.statistics.statistics import Statistics, summarise_batches
from headcount.statistics.streams import BatchReader, ScoreReader

__all__ = ["BatchReader", "ScoreReader", "Statistics", "summarise_batches"]
