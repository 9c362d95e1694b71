"""What a member of a cluster does, and the names of the files that come with it."""

import enum


class MemberRole(enum.Enum):
    """The role of a member, as ``-r`` of ``seatunnel-cluster`` names it."""

    MASTER_AND_WORKER = "master_and_worker"
    """May lead, keeps the state, and runs jobs."""

    MASTER = "master"
    """May lead and keeps the state; the rows of jobs move on other members."""

    WORKER = "worker"
    """Runs work; never leads, and keeps no state."""

    QUERY = "query"
    """Takes requests and hands them to the leader; never leads, and runs nothing."""

    @classmethod
    def of(cls, text: str) -> "MemberRole":
        """Return the role of a name in any case.

        Raises:
            ValueError: there is no such role; the message names those that there are.
        """
        try:
            return cls(text.strip().lower())
        except ValueError:
            known = ", ".join(role.value for role in cls)
            raise ValueError(f"expected one of {known}, found {text!r}") from None

    @property
    def leads(self) -> bool:
        """Whether a member of this role may be elected."""
        return self in (MemberRole.MASTER_AND_WORKER, MemberRole.MASTER)

    @property
    def works(self) -> bool:
        """Whether the rows of jobs may move on a member of this role."""
        return self in (MemberRole.MASTER_AND_WORKER, MemberRole.WORKER)

    @property
    def hazelcast_file(self) -> str:
        """The name of the file that describes the cluster to members of this role."""
        return _FILES[self]

    @property
    def default_port(self) -> int:
        """The member port, where no file names one."""
        return 5802 if self is MemberRole.WORKER else 5801

    @property
    def log_file(self) -> str:
        """The name of the member's log."""
        return _LOGS[self]

    @property
    def jvm_options_file(self) -> str:
        """The name of the file with the options of the JVM of the member's Spark."""
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
