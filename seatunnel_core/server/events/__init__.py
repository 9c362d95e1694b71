"""Job events, posted to a webhook."""
