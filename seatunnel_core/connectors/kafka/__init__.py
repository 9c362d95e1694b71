"""The source and the sink ``Kafka``, on confluent-kafka: no jar is needed."""
