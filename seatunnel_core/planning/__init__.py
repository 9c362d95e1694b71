"""Planning of a job, without moving rows: options, schemas, guarantees, operator chains, and ``--check``."""
