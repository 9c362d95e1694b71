"""Roles of cluster members, with the file names of each role."""

import enum


class MemberRole(enum.Enum):
    """Role of a member, as in option ``-r`` of ``seatunnel-cluster``."""

    MASTER_AND_WORKER = "master_and_worker"
    """Can lead, stores the state, and runs jobs and their tasks."""

    MASTER = "master"
    """Can lead, stores the state, and runs jobs; their tasks run on worker nodes."""

    WORKER = "worker"
    """Runs tasks; never leads, and stores no state."""

    QUERY = "query"
    """Forwards requests to the leader; never leads, and runs nothing."""

    @classmethod
    def of(cls, text: str) -> "MemberRole":
        """Return the role with this name, ignoring case; raise ``ValueError`` for an unknown name."""
        try:
            return cls(text.strip().lower())
        except ValueError:
            known = ", ".join(role.value for role in cls)
            raise ValueError(f"expected one of {known}, found {text!r}") from None

    @property
    def leads(self) -> bool:
        """True if members with this role can be elected."""
        return self in (MemberRole.MASTER_AND_WORKER, MemberRole.MASTER)

    @property
    def works(self) -> bool:
        """True if members with this role run tasks."""
        return self in (MemberRole.MASTER_AND_WORKER, MemberRole.WORKER)

    @property
    def hazelcast_file(self) -> str:
        """Name of the cluster file for members with this role."""
        return _FILES[self]

    @property
    def default_port(self) -> int:
        """Default member port."""
        return 5802 if self is MemberRole.WORKER else 5801

    @property
    def log_file(self) -> str:
        """Name of the member's log file."""
        return _LOGS[self]

    @property
    def jvm_options_file(self) -> str:
        """Name of the file with the JVM options of the member's Spark."""
        return _JVM_OPTIONS[self]


_JVM_OPTIONS = {
    MemberRole.MASTER_AND_WORKER: "jvm_options",
    MemberRole.MASTER: "jvm_master_options",
    MemberRole.WORKER: "jvm_worker_options",
    MemberRole.QUERY: "jvm_options",
}
_FILES = {
    MemberRole.MASTER_AND_WORKER: "hazelcast.yaml",
    MemberRole.MASTER: "hazelcast-master.yaml",
    MemberRole.WORKER: "hazelcast-worker.yaml",
    MemberRole.QUERY: "hazelcast.yaml",
}
_LOGS = {
    MemberRole.MASTER_AND_WORKER: "seatunnel-engine-server.log",
    MemberRole.MASTER: "seatunnel-engine-master.log",
    MemberRole.WORKER: "seatunnel-engine-worker.log",
    MemberRole.QUERY: "seatunnel-engine-server.log",
}
