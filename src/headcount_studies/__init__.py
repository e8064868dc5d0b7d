"""Published experiments rerun, and experiments of your own: a spec in, a store of results out.

>>> from headcount_studies import read_spec
>>> read_spec("tweets").datasets[:2]
('hcr', 'omd')
"""

from __future__ import annotations

import lazy_loader

# Worker processes import this package before they need any of it.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
