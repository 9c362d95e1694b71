"""What a node measures, as the pages that Prometheus reads."""
