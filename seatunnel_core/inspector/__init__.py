"""Inspection and maintenance of checkpoint storages: the Python interface of ``seatunnel checkpoints``.

::

    from seatunnel_core import inspector

    with inspector.StorageReference(storage="config/seatunnel.yaml").open() as storage:
        for job in inspector.survey(storage):
            print(job.job_id, job.state.value, len(job.checkpoints), inspector.verify(storage, [job]).sound)

It requires no Spark, no Arrow and no running job. Only ``copy_job`` and ``remove`` write.
"""

from seatunnel_core.errors import CopyError
from seatunnel_core.inspector import record
from seatunnel_core.inspector.archive import ArchiveStorage
from seatunnel_core.inspector.content import CheckpointContent, Part, VertexContent, content_of
from seatunnel_core.inspector.copy import Copied, copy_job, seems_to_run
from seatunnel_core.inspector.diff import Change, changes
from seatunnel_core.inspector.garbage import Findings, Garbage, find_garbage, remove
from seatunnel_core.inspector.reference import StorageReference
from seatunnel_core.inspector.survey import JobState, JobSurvey, PipelineSurvey, survey, survey_job
from seatunnel_core.inspector.verify import Damage, Verdict, Verification, verify

__all__ = [
    "ArchiveStorage",
    "Change",
    "CheckpointContent",
    "Copied",
    "CopyError",
    "Damage",
    "Findings",
    "Garbage",
    "JobState",
    "JobSurvey",
    "Part",
    "PipelineSurvey",
    "StorageReference",
    "Verdict",
    "Verification",
    "VertexContent",
    "changes",
    "content_of",
    "copy_job",
    "find_garbage",
    "record",
    "remove",
    "seems_to_run",
    "survey",
    "survey_job",
    "verify",
]
