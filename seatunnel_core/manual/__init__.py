"""Pages of help, which ``seatunnel help`` prints and a node serves: what errors mean, and some of the documentation."""
