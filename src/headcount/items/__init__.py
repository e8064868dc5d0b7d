"""Features, labels and columns as checked arrays; scores and decisions made elsewhere."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
