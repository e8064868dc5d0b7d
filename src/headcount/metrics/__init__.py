"""Errors between true and estimated shares.

Every function takes the true shares ``p`` and the estimated ones ``p_hat`` with classes
along the last axis, broadcasts over the axes before it, and returns one number per pair (a
plain number for one-dimensional input). The order of the classes matters only to ``nmd``,
``md``, ``cvm``, ``macro_nmd``, ``nmd_by_bin``, ``rnod`` and ``jaggedness``.

``winkler``, ``coverage`` and ``width`` measure intervals: they take ``(p, low, high)``.

``rae``, ``nrae``, ``kld``, ``nkld`` and ``aitchison`` are undefined where shares are zero.
With ``size=n``, the number of items in the sample, they smooth both vectors to
``(p + eps) / (1 + K * eps)`` with ``eps = 1 / (2 * n)``. ``eps=`` sets the smoothing directly.

Examples
--------
>>> from headcount import metrics
>>> truth = [[0.5, 0.5], [0.9, 0.1]]
>>> metrics.ae(truth, [0.5, 0.5])
array([0. , 0.4])
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
