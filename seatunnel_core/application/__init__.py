"""Jobs in Python: build, run and resume jobs in an application."""
