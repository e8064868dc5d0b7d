"""The comparison of quantification methods: Schumacher, Strohmaier and Lemmerich.

A task is a dataset, a group of methods that share computations and, for most groups, a share
of training items and a training distribution. All draws are inside. `data` describes how
training sets and samples are drawn.

Results have these columns in addition to those of all studies: ``split`` (share of training
items), ``train``, ``test`` (positions of the distributions in the protocol), ``draw``,
``shift`` (sum of absolute differences between the two distributions as the protocol names
them), ``n_train`` and ``size`` (items of the training set and of the sample), and the ``true``
and ``estimated`` shares.
"""

from __future__ import annotations

from headcount_studies.engine.task import FolderStudy

__all__ = ["experiment"]

experiment = FolderStudy(__name__)
