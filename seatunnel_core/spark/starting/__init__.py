"""Starting Spark: which Java, which master, the gateway, the session, and the archive of classes."""
