"""
Any scikit-learn classifier
===========================

One classifier, used in two ways: counting its predictions, and correcting them (SLD). One
training digit in ten is an eight; the samples have every share from none to all.
"""

# %%
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc

X, digit = load_digits(return_X_y=True)
y = np.where(digit == 8, "eight", "other")
X_train, X_pool, y_train, y_pool = train_test_split(
    X, y, train_size=600, stratify=digit, random_state=0
)
classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))

# %%
# A new sample, half of which are eights:
half = hc.Prevalences([[0.5, 0.5]], size=200, random_state=0).draw(y_pool)[0]
quantifier = hc.SLD(classifier, random_state=0).fit(X_train, y_train)
print(quantifier.estimate(X_pool[half], random_state=0))
print("counted:", hc.CC(classifier, random_state=0).fit(X_train, y_train).predict(X_pool[half]))

# %%
# Many samples at once. A scorer trains the classifier once for all methods.
scorer = hc.Scorer(classifier, random_state=0).fit(X_train, y_train)
methods = [method.fit_scorer(scorer) for method in (hc.CC(), hc.SLD())]
protocol = hc.APP(n_prevalences=21, repeats=50, size=100, random_state=0)
evaluation = hc.evaluate(methods, X_pool, y_pool, protocol)
print(evaluation)

# %%
# Bands contain 90% of the samples.
ax = evaluation.plot_diagonal()
