"""The ten."""

from tests.bench.ten_tasks.of_files import (
    CsvToDuckDB,
    KillInTheMiddle,
    Merge,
    NestedJsonToPostgres,
    Replace,
    SchemaGrowth,
)
from tests.bench.ten_tasks.of_servers import ApiToParquet, NightlyIncrement, PostgresToParquet, SmallTables
from tests.bench.ten_tasks.task import Task

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        CsvToDuckDB(),
        ApiToParquet(),
        NestedJsonToPostgres(),
        NightlyIncrement(),
        Merge(),
        Replace(),
        SchemaGrowth(),
        SmallTables(),
        PostgresToParquet(),
        KillInTheMiddle(),
    )
}
