"""Pages for people: one HTML file that needs nothing else, from plain data."""
