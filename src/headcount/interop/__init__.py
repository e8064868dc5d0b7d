"""Bridges to other packages for quantification: their methods here, ours there.

No other package is imported before one of its objects is used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
