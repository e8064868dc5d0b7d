"""
Compare methods
===============

Samples with known shares from a pool of labelled items, several methods on the same classifier,
a table with tests of significance, and a plot for a paper.
"""

# %%
from sklearn.datasets import make_classification

import headcount as hc

X, y = make_classification(
    8000, n_features=10, weights=[0.7], flip_y=0.1, class_sep=0.8, random_state=0
)
X_train, y_train, X_pool, y_pool = X[:2000], y[:2000], X[2000:], y[2000:]
scorer = hc.Scorer(random_state=0).fit(X_train, y_train)
methods = [hc.CC(), hc.PCC(), hc.PACC(), hc.DyS(), hc.SLD(), hc.KDEyML()]

# %%
# The artificial-prevalence protocol draws samples with every share from 0% to 100%.
protocol = hc.APP(n_prevalences=21, repeats=10, size=200, random_state=0)
fitted = [method.fit_scorer(scorer) for method in methods]
evaluation = hc.evaluate(fitted, X_pool, y_pool, protocol)
print(evaluation.compare("wilcoxon"))

# %%
# Where does each method fail? ``evaluation.to_latex()`` writes the table for a paper.
print(evaluation.only("CC", "PACC", "SLD").summary(by="shift", bins=[0.2, 0.4]))

# %%
ax = evaluation.plot_error_by_shift("ae")
