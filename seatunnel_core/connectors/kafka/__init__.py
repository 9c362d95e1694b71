"""The source and the sink ``Kafka``, based on confluent-kafka."""
