"""Modules that need PyTorch are not collected where it is not installed."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["src/headcount/quantifiers/deep"]
