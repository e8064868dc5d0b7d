"""Pages of studies and of submissions to LeQua."""
