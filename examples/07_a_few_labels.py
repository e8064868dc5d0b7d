"""
A few labels
============

When more than the mix has changed, labels of a random sample of the new items make the estimate
valid whatever has changed, and the classifier makes its interval shorter.
"""

# %%
# Half of the late parcels now look like parcels in time. No test on the scores can notice.
import numpy as np

import headcount as hc


def parcels(n, share, seed, changed=False):
    rng = np.random.default_rng(seed)
    late = rng.random(n) < share
    looks_late = late & ~(changed & (rng.random(n) < 0.5))
    x = rng.normal(size=(n, 3)) + 1.5 * looks_late[:, None]
    return x, np.where(late, "late", "in time")


X, y = parcels(1000, 0.4, seed=0)
X_new, truth = parcels(5000, 0.2, seed=1, changed=True)
quantifier = hc.SLD(random_state=0).fit(X, y)
print(f"true {np.mean(truth == 'late'):.1%}")
print(quantifier.estimate(X_new, random_state=0))

# %%
# Plan which items to label: at random, more of them where the classifier is uncertain.
plan = quantifier.plan_labels(X_new, budget=200, random_state=0)
print(plan)

# %%
# People fill in the labels; here we look them up.
labels = truth[plan.rows]
estimate = quantifier.estimate(X_new, labelled=(plan.rows, labels), design=plan)
print(estimate)

# %%
# The interval contains the truth. It is wider than planned, because the classifier is worse on
# these parcels than on the labelled ones, and the labels show it.
#
# Precision that the plan expects of each number of labels:
ax = plan.plot()
