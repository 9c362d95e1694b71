"""Jobs in Python: build, run and resume them in an application."""
