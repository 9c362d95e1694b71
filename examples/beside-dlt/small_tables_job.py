import os

import seatunnel_core as st

job = st.Job("small-tables", {"parallelism": 2})
tables = [{"table_path": f"public.t{number}"} for number in range(100)]
rows = job.source("Jdbc", url=os.environ["SHOP"], table_list=tables)
rows.sink("DuckDB", path=os.environ["OUTPUT"], write_mode="replace")
job.run()
