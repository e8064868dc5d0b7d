"""Label shift on the logits of networks: Alexandari, Kundaje and Shrikumar (ICML 2020).

A trial divides the test images of a network into two halves. Calibrators and estimators are
fitted on a sample of the first, and applied to samples of the second with other shares. The
errors are those of the weights, test shares divided by source shares; the gain is that of the
accuracy of predictions that are adapted by the estimated weights.
"""

from __future__ import annotations

from headcount_studies.engine.task import FolderStudy

__all__ = ["experiment"]

experiment = FolderStudy(__name__)
