"""The source and the sink ``Memory``: tables of a Python program as the two ends of a job."""
