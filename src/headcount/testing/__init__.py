"""Conformance checks for methods, in this library or in another package.

>>> import headcount as hc
>>> from headcount import testing
>>> report = testing.check_quantifier(hc.CC())
>>> report.with_status("failed")
()
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
