"""Durable maps, and the checkpoint storage of type ``map-store`` on top of them."""
