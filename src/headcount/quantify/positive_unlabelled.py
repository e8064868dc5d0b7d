"""Share of a class of which there are labelled items and an unlabelled mixture."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.preprocessing import StandardScaler

from headcount._parameters import check_count, check_positive, check_share
from headcount.data import count_rows, take_rows
from headcount.errors import HeadcountError, warn
from headcount.quantify.info import MethodInfo
from headcount.quantify.one_class import PAT, OneClassQuantifier
from headcount.representation import Dense, FourierFeatures, Training
from headcount.sampling import Samples
from headcount.sampling._streams import base_seeds
from headcount.scores.outputs import numeric_space
from headcount.uncertainty import SharePosterior

__all__ = ["TCPU"]

Floats = NDArray[np.float64]

# Lines through resampled items, and the part of a squared length that counts at least.
_RESAMPLED_LINES, _LEAST_LENGTH = 200, 0.1
_ROWS_AT_ONCE = 5000


class TCPU(OneClassQuantifier):
    """Share of a class from labelled items of it and a mixed sample with a known share.

    Means of a kernel embedding are points. Those of all mixtures of the class and the rest
    are on a line, through the labelled items and the unlabelled ones that `fit` takes. A new
    sample is projected onto that line, and its position shows its share: with the share s of
    the class among the unlabelled items, and the mean embeddings P of the class, U of the
    unlabelled items and T of the new sample, it is::

        1 - (1 - s) <T - P, U - P> / <U - P, U - P>

    The products are corrected for the noise of the means, and the kernel is a Gaussian one,
    approximated by random Fourier features. The estimator was derived from what the abstract
    of the paper states. Correct if "other" is the same mixture of things in both samples.

    Parameters
    ----------
    source_share : float or None, default=None
        Share of the class among the unlabelled items. None estimates it by `PAT`, which
        counts too many where other items look typical of the class.
    n_projections : int, default=300
        Number of random Fourier features; each is a cosine and a sine.
    bandwidth : float or None, default=None
        Standard deviation of the kernel, for standardised features. None is the root of the
        number of features.
    other : Any, default="other"
        Name of everything that is not of the class.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the projections.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labelled class, then "other".
    source_share_ : float
        Share of the class among the unlabelled items, given or estimated.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> import headcount as hc
    >>> X, y = load_digits(return_X_y=True)
    >>> quantifier = hc.TCPU(source_share=0.1, random_state=0)
    >>> quantifier = quantifier.fit(X[:900][y[:900] == 0], unlabelled=X[:900])
    >>> new = np.r_[X[900:], X[900:][y[900:] == 0]]  # zeros twice: 18%
    >>> quantifier.predict(new).round(2)
    array([0.18, 0.82])
    """

    info: ClassVar = MethodInfo(
        title="projection of kernel means of one class and a mixture",
        family="one class",
        reference="Mielniczuk, Rejchel & Teisseyre, arXiv 2502.21194 (2025)",
        input="features",
        labels="one class and unlabelled",
        resamples=True,
    )

    def __init__(
        self,
        source_share: float | None = None,
        *,
        n_projections: int = 300,
        bandwidth: float | None = None,
        other: Any = "other",
        random_state: Any = None,
    ) -> None:
        self.source_share = source_share
        self.n_projections = n_projections
        self.bandwidth = bandwidth
        self.other = other
        self.random_state = random_state

    def _learn(self, X: Any, unlabelled: Any) -> None:
        if unlabelled is None:
            raise HeadcountError(
                "unlabelled is None, but TCPU compares new samples with a mixed one: pass "
                "unlabelled items, or use PAT, which needs none."
            )
        source = self.source_share
        if source is not None and check_share("source_share", source) == 1:
            raise HeadcountError("source_share is 1; it must be below 1.")
        bandwidth = self.bandwidth
        if bandwidth is not None:
            check_positive("bandwidth", bandwidth)
        n_projections = check_count("n_projections", self.n_projections)
        seed = base_seeds(self.random_state, 1)[0]
        own, mixed = numeric_space(None, X), numeric_space(None, unlabelled)
        if own.shape[1] != mixed.shape[1]:
            raise HeadcountError(
                f"unlabelled has {mixed.shape[1]} features, but X has {own.shape[1]}: pass the "
                "same features."
            )
        if min(own.shape[0], mixed.shape[0]) < 2:
            raise HeadcountError(
                "X or unlabelled has a single item; two of each are needed at least: pass more."
            )
        self._scaler = StandardScaler(with_mean=not issparse(mixed)).fit(mixed)
        width = np.sqrt(own.shape[1]) if bandwidth is None else float(bandwidth)
        scaled = self._scaler.transform(own)
        everyone = Training(scaled, np.zeros(own.shape[0], np.int64), 1)
        self._waves = FourierFeatures(n_projections, width, seed).fit(everyone)
        of_own, of_mixed = self._waves.embed(scaled).values, self._embed(mixed)
        if source is None:
            pat = PAT(random_state=seed).fit(X)
            self.source_share_ = float(pat.predict(unlabelled)[0])
            self._sources = pat.estimate(unlabelled).draws[:, 0]
        else:
            self.source_share_ = float(source)
            self._sources = np.array([self.source_share_])
        rng = np.random.default_rng(seed)
        lines = [_line(of_own, of_mixed)] + [
            _line(_resampled(of_own, rng), _resampled(of_mixed, rng), times=2)
            for _ in range(_RESAMPLED_LINES)
        ]
        if lines[0][2] <= 0:
            warn(
                "unlabelled items hardly differ from those of the class, so the shares are "
                "very uncertain: use a sample with fewer items of the class."
            )
        directions, offsets, lengths = zip(*lines, strict=True)
        # A length that noise explains is no length; the share is then hardly determined.
        least = np.maximum(_LEAST_LENGTH * np.sum(np.square(directions), axis=1), 1e-12)
        scale = np.maximum(lengths, least)
        self._directions = np.array(directions).T / scale
        self._offsets = np.array(offsets) / scale

    def _embed(self, X: Any) -> Floats:
        return self._waves.embed(self._scaler.transform(numeric_space(None, X))).values

    def _positions(self, X: Any, n_lines: int) -> Floats:
        """Position of each item on the line: 0 for the class and 1 for the unlabelled items."""
        n = count_rows(X)
        parts = np.array_split(np.arange(n), 1 + n // _ROWS_AT_ONCE)
        waves = (self._embed(take_rows(X, rows)) for rows in parts)
        found = [part @ self._directions[:, :n_lines] for part in waves]
        return np.concatenate(found) - self._offsets[:n_lines]

    def _shares(self, X: Any, samples: Samples) -> Floats:
        position = Dense(self._positions(X, 1)).means(samples)[:, 0]
        return np.asarray(1 - (1 - self.source_share_) * position)

    def _posteriors(
        self, X: Any, samples: Samples, prior: Any, replicates: int, seed: int
    ) -> list[SharePosterior]:
        if prior is not None:
            raise HeadcountError("prior is for PAT; TCPU has none: leave it out.")
        rng = np.random.default_rng(seed)
        positions = self._positions(X, 1 + _RESAMPLED_LINES)
        means = Dense(positions).means(samples)
        squares = Dense(positions[:, :1] ** 2).means(samples)[:, 0]
        line = 1 + rng.integers(_RESAMPLED_LINES, size=replicates)
        others = 1 - rng.choice(self._sources, replicates)
        noise = rng.normal(size=replicates)
        found = []
        for own, square, n in zip(means, squares, samples.sizes.tolist(), strict=True):
            share = np.clip(1 - (1 - self.source_share_) * own[0], 0, 1)
            # Variance between the two classes is no uncertainty about these very items.
            variance = (1 - self.source_share_) ** 2 * max(square - own[0] ** 2, 0.0)
            within = max(variance - share * (1 - share), variance / 10) / n
            draws = np.clip(1 - others * own[line] + np.sqrt(within) * noise, 0, 1)
            pairs = np.column_stack([draws, 1 - draws])
            found.append(SharePosterior(pairs, np.full(replicates, 1 / replicates)))
        return found


def _resampled(rows: Floats, rng: np.random.Generator) -> Floats:
    return rows[rng.integers(len(rows), size=len(rows))]


def _line(own: Floats, mixed: Floats, times: int = 1) -> tuple[Floats, float, float]:
    """Direction from the class to the mixture, its offset, and its squared length.

    Squares of means contain the variance of the means, which is subtracted. Means of resampled
    items contain it two times.
    """
    start = own.mean(axis=0)
    direction = mixed.mean(axis=0) - start
    noise = times * own.var(axis=0, ddof=1).sum() / len(own)
    both = noise + times * mixed.var(axis=0, ddof=1).sum() / len(mixed)
    return direction, float(start @ direction + noise), float(direction @ direction - both)
