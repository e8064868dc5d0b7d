"""The fixtures of the command line's tests, for the commands of studies."""

from __future__ import annotations

from tests.cli.conftest import call, files, refused

__all__ = ["call", "files", "refused"]
