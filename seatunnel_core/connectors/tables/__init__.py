"""Sinks that write tables: commit ledger, save modes, schema growth, history, replacement, deletion of absent keys."""
