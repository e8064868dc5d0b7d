"""
Scores from elsewhere
=====================

The classifier runs in another system, and only its scores were logged. Wrap them in
``hc.Scored``: every method accepts that in place of features.
"""

# %%
# A reference set of scores with labels, on which the model was *not* trained, and new scores.
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

import headcount as hc

X, y = make_classification(9000, weights=[0.8], flip_y=0.05, class_sep=0.7, random_state=0)
model = RandomForestClassifier(50, min_samples_leaf=5, random_state=0).fit(X[:2000], y[:2000])
reference, y_reference = model.predict_proba(X[2000:5000]), y[2000:5000]
days = hc.Prevalences([[0.8, 0.2], [0.6, 0.4], [0.3, 0.7]], size=800, random_state=1)
samples = days.draw(y[5000:])
scores = model.predict_proba(X[5000:])

# %%
# Forests are poorly calibrated; ``calibration="bcts"`` repairs that on the reference.
quantifier = hc.SLD(calibration="bcts").fit(hc.Scored(reference), y_reference)
estimates = quantifier.estimate_many(hc.Scored(scores), samples, random_state=0)
for estimate, rows, truth in zip(estimates, samples, samples.prevalence, strict=True):
    low, high = estimate.interval()[1]
    counted = (scores[rows, 1] > 0.5).mean()
    print(
        f"true {truth[1]:.3f}  estimated {estimate.prevalence[1]:.3f} "
        f"({low:.3f} to {high:.3f})  counted {counted:.3f}"
    )

# %%
# The second interval just misses the truth, as one 95% interval in twenty does.
#
# For outputs of a network before the softmax use ``hc.Scored(logits=...)``, for decisions
# without scores ``hc.Verdicts``. On the command line: ``headcount estimate --scores``.
ax = estimates[2].plot()
