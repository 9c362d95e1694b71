"""Startup of Spark: Java, master, gateway, session, and the Java class archive."""
