"""
Monitor a model
===============

A model runs in production, and labels arrive late or never. A monitor reads its scores and
raises an alert when the mix, the accuracy or the distribution of the scores has changed.
"""

# %%
# Twenty days with 20% positives, then four with 30%.
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import headcount as hc

X, y = make_classification(
    30_000, n_features=10, weights=[0.8], flip_y=0.05, class_sep=0.9, random_state=0
)
model = LogisticRegression().fit(X[:2000], y[:2000])
reference, y_reference = model.predict_proba(X[2000:5000]), y[2000:5000]
scores, truth = model.predict_proba(X[5000:]), y[5000:]
shares = [[0.8, 0.2]] * 20 + [[0.7, 0.3]] * 4
days = hc.Prevalences(shares, size=500, random_state=1).draw(truth)
dates = np.repeat([f"2026-03-{day:02d}" for day in range(1, 25)], 500)

# %%
# A monitor lives in a folder, so the next process goes on where this one stopped.
folder = TemporaryDirectory()
monitor = hc.Monitor.create(
    f"{folder.name}/watch", hc.Scored(reference), target=y_reference, by="day"
)
for alert in monitor.update(hc.Scored(scores[days.indices]), dates=dates):
    print(alert.state, alert.reason)

# %%
# One row per day, a picture, and with ``monitor.report("page.html")`` a page.
print(monitor.to_frame().columns[:8])
ax = monitor.plot()
folder.cleanup()
