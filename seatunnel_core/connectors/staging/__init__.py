"""Staged files: names, staging folders, publication and cleanup."""
