"""The engine as a cluster: agents that elect a leader, hosts that run jobs, and the state that outlives both.

Nothing here moves rows: a host runs jobs through ``seatunnel_core.runtime``, an agent never imports Spark.
"""
