"""Parts of sinks that write tables: commit ledger, save modes, schema growth, history, replacement and deletion."""
