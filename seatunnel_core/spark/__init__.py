"""The data plane: packets of work units on PySpark. Nothing here knows the protocol; nothing else imports Spark."""
