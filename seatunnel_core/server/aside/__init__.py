"""What a node finds out for readers in a process beside its agent: it may take long, and loads plugins or much data."""
