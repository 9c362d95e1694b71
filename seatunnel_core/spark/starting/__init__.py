"""The start of Spark: the Java, the master, the gateway, the session, and the archive of classes."""
