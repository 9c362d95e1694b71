"""The ``Kafka`` source and sink, based on confluent-kafka."""
