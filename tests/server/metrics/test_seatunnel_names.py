"""Each name of SeaTunnel's page of metrics is served, or the page about metrics says why not."""

import re
from pathlib import Path

from seatunnel_core.server.metrics.figures import ALL_FAMILIES

PAGE = Path(__file__).parents[3] / "docs/reference/metrics.md"

_NAMES = """
cluster_info cluster_time node_count node_state job_count
hazelcast_executor_executedCount hazelcast_executor_isShutdown hazelcast_executor_isTerminated
hazelcast_executor_maxPoolSize hazelcast_executor_poolSize hazelcast_executor_queueRemainingCapacity
hazelcast_executor_queueSize
hazelcast_partition_activePartition hazelcast_partition_isClusterSafe hazelcast_partition_isLocalMemberSafe
hazelcast_partition_partitionCount
job_thread_pool_activeCount job_thread_pool_completedTask job_thread_pool_corePoolSize job_thread_pool_maximumPoolSize
job_thread_pool_poolSize job_thread_pool_queueTaskCount job_thread_pool_rejection job_thread_pool_task
jvm_info jvm_buffer_pool_capacity_bytes jvm_buffer_pool_used_buffers jvm_buffer_pool_used_bytes
jvm_classes_currently_loaded jvm_classes_loaded jvm_classes_unloaded jvm_gc_collection_seconds
jvm_memory_bytes_committed jvm_memory_bytes_init jvm_memory_bytes_max jvm_memory_bytes_used
jvm_memory_objects_pending_finalization jvm_memory_pool_allocated_bytes
jvm_memory_pool_bytes_committed jvm_memory_pool_bytes_init jvm_memory_pool_bytes_max jvm_memory_pool_bytes_used
jvm_memory_pool_collection_committed_bytes jvm_memory_pool_collection_init_bytes jvm_memory_pool_collection_max_bytes
jvm_memory_pool_collection_used_bytes
jvm_threads_current jvm_threads_daemon jvm_threads_deadlocked jvm_threads_deadlocked_monitor jvm_threads_peak
jvm_threads_started jvm_threads_state
process_cpu_seconds process_max_fds process_open_fds process_resident_memory_bytes process_start_time_seconds
process_virtual_memory_bytes
engine_state_store_local_owned_entries engine_state_store_local_backup_entries
engine_state_store_local_heap_cost_bytes engine_state_store_running_job_metrics_task_contexts
engine_state_store_running_job_metrics_active_partition_keys engine_state_store_checkpoint_monitor_jobs
engine_state_store_checkpoint_monitor_in_progress_checkpoints
engine_state_store_checkpoint_monitor_retained_history_entries engine_state_store_finished_job_records
engine_state_store_finished_job_cleanup engine_state_store_connector_jar_tracked_jars
engine_state_store_connector_jar_total_references
report_metrics_operation report_metrics_operation_last_payload_task_count
report_metrics_operation_last_invocation_latency_ms report_metrics_operation_max_invocation_latency_ms
"""
SEATUNNEL = tuple(_NAMES.split())
"""The families of the page that 2.3.8 serves, and those that the documentation of 3.1 has besides."""


def test_each_name_is_served_or_its_absence_explained() -> None:
    served = {family.name for family in ALL_FAMILIES}
    (section,) = re.findall(r"<!-- not served -->\n(.*?)<!-- end of not served -->", PAGE.read_text(), re.DOTALL)
    listed = [name for row in section.splitlines() for name in re.findall(r"`([^`]+)`", row.split("|")[1])]
    explained = {name for name in SEATUNNEL if any(matches(name, each) for each in listed)}
    assert served & explained == set()
    assert set(SEATUNNEL) - served == explained
    assert all(any(matches(name, each) for name in SEATUNNEL) for each in listed)


def matches(name: str, listed: str) -> bool:
    """Return whether a name is one that the page lists, where ``…`` stands for any end."""
    return name.startswith(listed[:-1]) if listed.endswith("…") else name == listed
