"""The source and the sink ``Kafka``, based on confluent-kafka; no jar is needed."""
