"""Start of Spark: Java, master, gateway, session, and the archive of classes."""
