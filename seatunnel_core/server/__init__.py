"""The engine as a cluster: agents that elect a leader, worker processes that run jobs, and durable state.

Worker processes run jobs through ``seatunnel_core.runtime``. Agents never import Spark and never move rows.
"""
