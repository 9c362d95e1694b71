"""Member discovery and rejection of foreign nodes."""
