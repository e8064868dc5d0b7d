"""headcount: shares of the classes in a set of unlabelled items.

>>> import headcount as hc
>>> from sklearn.datasets import make_classification
>>> X, y = make_classification(2000, random_state=0)
>>> hc.SLD().fit(X[:1000], y[:1000]).predict(X[1000:]).round(1)
array([0.5, 0.5])
"""

from importlib.metadata import version

import lazy_loader

# Names are imported when they are first used, so that `import headcount` takes no time.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = version("headcount")
