"""What methods are made of: training items, reductions, representations, solvers, `Fitted`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
