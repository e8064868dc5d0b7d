"""Monitor of a classifier in production: reference, chunks, alerts, state that survives."""

from __future__ import annotations

from headcount.monitor.history import Alert, MonitorStatus
from headcount.monitor.monitor import Monitor
from headcount.monitor.updates import Update

__all__ = ["Alert", "Monitor", "MonitorStatus", "Update"]
