"""Jobs from Python: built, run and resumed by an application."""
