"""Who may run a job, and from which checkpoints it goes on: claims, restores, savepoints of other jobs, job ids.

Running the job is the work of ``runtime``.
"""
