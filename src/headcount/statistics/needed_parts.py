"""Statistics that fitted methods need, by fingerprints that every process computes alike."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from headcount.errors import HeadcountError
from headcount.quantify.estimation import needed_statistics
from headcount.quantify.fitted import Fitted, HasFitted
from headcount.quantify.statistics_parts import Form, NeedsStatistics, Part
from headcount.representation import CellsOf, MeanOf
from headcount.statistics.fingerprint import fingerprint
from headcount.statistics.logit_cells import LogitCells
from headcount.statistics.ratio_cells import RatioCells
from headcount.statistics.sums import Sums

Store = Sums | LogitCells | RatioCells
KINDS: dict[str, Any] = {each.__name__: each for each in (Sums, LogitCells, RatioCells)}
"""Kinds of stores by their names in files."""
NO_MODEL = HeadcountError(
    "The statistics were read without their model, so that items cannot be added: pass model "
    "to from_bytes or load."
)
"""Error of statistics without their model."""


class _Needed(NamedTuple):
    """Statistic, with the fingerprint of the maker of its items."""

    part: Part
    source: str


class Batch(NamedTuple):
    """Statistics of a batch of items, and the number of rows per item, by key.

    Items that several classifiers have scored have several rows.
    """

    deltas: dict[str, Any]
    copies: dict[str, int]


class NeededParts:
    """Statistics that fitted methods need."""

    def __init__(self, model: Any) -> None:
        self.models: tuple[Any, ...] | None = None
        if model is not None:
            self.models = tuple(model) if isinstance(model, list | tuple) else (model,)
            _check_models(self.models)
        self._by_form: dict[Form, dict[str, _Needed]] = {}
        # Objects are kept besides their fingerprints, so that no other can have their identity.
        self._sources: dict[tuple[int, ...], tuple[Any, str]] = {}
        self._keys: dict[int, tuple[Part, str]] = {}

    def of_form(self, form: Form) -> dict[str, _Needed]:
        """Statistics that are needed of items of a form, by key."""
        if self.models is None:
            raise NO_MODEL
        if form not in self._by_form:
            parts = [part for model in self.models for part in _parts_of(model, form)]
            self._by_form[form] = {
                self.key(part): _Needed(part, self._source(part)) for part in parts
            }
        return self._by_form[form]

    def key(self, part: Part) -> str:
        """Fingerprint of a statistic and the maker of its items."""
        if id(part) not in self._keys:
            self._keys[id(part)] = part, fingerprint((self._source(part), part.reduction))
        return self._keys[id(part)][1]

    def _source(self, part: Part) -> str:
        """Fingerprint of the maker of items, computed once for the same classifiers."""
        identity = part.source.identity()
        place = tuple(id(thing) for thing in identity)
        if place not in self._sources:
            self._sources[place] = identity, fingerprint(identity)
        return self._sources[place][1]

    def batch(self, form: Form, pool: Any, codes: NDArray[np.int64], n_groups: int) -> Batch:
        """Statistics of items, by the numbers of their groups."""
        by_source: dict[str, dict[str, Part]] = {}
        for key, (part, source) in self.of_form(form).items():
            by_source.setdefault(source, {})[key] = part
        batch = Batch({}, {})
        for parts in by_source.values():
            maker = next(iter(parts.values())).source
            items = maker.items(pool)
            copies = maker.count(items) // len(codes)
            batch.copies.update(dict.fromkeys(parts, copies))
            sums = {k: part for k, part in parts.items() if isinstance(part.reduction, MeanOf)}
            deltas = Sums.deltas(list(sums.values()), items, codes, n_groups)
            batch.deltas.update(zip(sums, deltas, strict=True))
            for key, part in parts.items():
                if isinstance(part.reduction, CellsOf):
                    store, rows = empty_store(part), part.reduction.rows(items)
                    assert not isinstance(store, Sums)
                    batch.deltas[key] = store.delta(rows, codes, n_groups)
        return batch


def empty_store(part: Part) -> Store:
    """Store for a statistic, without content."""
    reduction = part.reduction
    if not isinstance(reduction, CellsOf):
        return Sums()
    return LogitCells() if reduction.n_classes == 2 else RatioCells(reduction.n_classes)


def _parts_of(model: HasFitted | Fitted | NeedsStatistics, form: Form) -> list[Part]:
    """Statistics that estimates of a fitted method need of items of a form."""
    if isinstance(model, NeedsStatistics):
        return model.statistics_parts(form)
    fitted = model if isinstance(model, Fitted) else model.fitted_
    return needed_statistics(fitted, form)


def _check_models(models: tuple[Any, ...]) -> None:
    for model in models:
        if isinstance(model, BaseEstimator):
            check_is_fitted(model, ["fitted_", "model_"], all_or_any=any)
        if not isinstance(model, HasFitted | Fitted | NeedsStatistics):
            raise HeadcountError(
                f"model is {model!r}; it must be a fitted quantifier or accuracy predictor, or "
                "a list of them."
            )
    if not models:
        raise HeadcountError("model is empty: pass at least one fitted method.")
