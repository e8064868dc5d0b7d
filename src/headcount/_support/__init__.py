"""Parameters, random streams, threads, progress, text tables, files, versions."""
