"""Monitor of a classifier in production: reference, chunks, alerts, state that survives."""

from __future__ import annotations

from headcount.monitor.alerts import Alert
from headcount.monitor.history import Status
from headcount.monitor.monitor import Monitor
from headcount.monitor.updates import Update

__all__ = ["Alert", "Monitor", "Status", "Update"]
