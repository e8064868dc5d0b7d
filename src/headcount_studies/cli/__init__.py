"""The commands `headcount study` and `headcount lequa`."""
