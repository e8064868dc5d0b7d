"""
Is the assumption met?
======================

Most methods assume prior shift: the mix changes, and items of a class look as before. Every
estimate tests this without labels.
"""

# %%
# Three new samples: another mix only, negatives that moved away, and negatives that moved to
# where the positives are.
import numpy as np

import headcount as hc
from headcount.plots import bars

rng = np.random.default_rng(1)


def items(n_negative, n_positive, moved=0.0):
    y = np.repeat(["negative", "positive"], [n_negative, n_positive])
    X = rng.normal(size=(len(y), 5))
    X[:, 0] += 2 * (y == "positive")
    X[: n_negative // 2, 0] += moved  # half of the negatives
    return X, y


X, y = items(1000, 1000)
quantifier = hc.SLD(random_state=0).fit(X, y)
samples = {"mix": items(250, 250)[0], "away": items(250, 250, -1)[0]}
samples["imitating"] = items(250, 250, 2)[0]

# %%
# In all three, half of the items are positive.
estimates = {name: quantifier.estimate(X, random_state=0) for name, X in samples.items()}
for name, estimate in estimates.items():
    print(f"{name:10} {estimate.prevalence['positive']:.1%}  {estimate.fit_test}")

# %%
# The test finds the second. The third passes: its items cannot be told from another mix without
# labels, and the estimate is far off. That is why a pass proves less than a rejection.
intervals = [estimate.interval()["positive"] for estimate in estimates.values()]
low, high = zip(*intervals, strict=True)
table = {
    "class": list(estimates),
    "share": [estimate.prevalence["positive"] for estimate in estimates.values()],
    "low": low,
    "high": high,
    "reference": [0.5] * 3,  # the truth
}
ax = bars(table, width=5)
