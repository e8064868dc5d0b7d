"""
Backtest on labelled months
===========================

Labelled items often have months, sites or customers. A backtest estimates each of them as if it
were new, compares with the truth, and shows which way of reading the data has worked.
"""

# %%
# Orders become larger, and large orders are late more often: the features cause the class, so a
# correction for prior shift is wrong here.
import numpy as np

import headcount as hc

rng = np.random.default_rng(0)
month = np.repeat(np.arange(12), 200)
size = rng.normal(size=2400) + month / 6
late = np.where(rng.random(2400) < 1 / (1 + np.exp(2 - 1.5 * size)), "late", "in time")
X = np.column_stack([size, rng.normal(size=2400)])
old, new = month < 10, month >= 10

# %%
quantifier = hc.FromHistory(random_state=0)
quantifier.fit(X[old], late[old], groups=month[old], ordered=True)
print(quantifier.backtest_)

# %%
# New months are estimated by the readings that held, with an interval as wide as the past
# justifies. Prior shift alone (SLD) is far off.
estimate = quantifier.estimate(X[new])
low, high = estimate.interval()["late"]
print(f"true {np.mean(late[new] == 'late'):.1%}")
print(f"from history {estimate.prevalence['late']:.1%} ({low:.1%} to {high:.1%})")
sld = hc.SLD(random_state=0).fit(X[old], late[old])
print(f"prior shift alone {sld.predict(X[new])[1]:.1%}")

# %%
# For tables: ``hc.backtest(labelled, target="label", by="month")`` or ``headcount backtest``.
ax = quantifier.backtest_.plot(label="late")
