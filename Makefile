# `make demo` and `make test` do all their set-up themselves: virtual environment, dependencies, Java when there is none.
# ARGS goes to pytest: make test ARGS="tests/cli -k progress". PYTHON names the interpreter to make .venv with.

VENV := .venv
RUN := $(VENV)/bin/python
PYTEST := $(RUN) -m pytest
ARGS ?=
SEEDS ?= 10000
SEED ?=
STATE ?=
OLD ?= HEAD~1
JOBS ?= 500
EXAMPLES ?= 10000
RUNS ?= 30
MINUTES ?= 60
NIGHTS ?= 100
KILLS ?= 50
FAULTS ?= 100000
TWINS ?= yes
IDLE ?= 45

export PYTHON
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Hundreds of processes of the tests import the same modules: whatever the shell says, these are compiled once.
unexport PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help
.PHONY: help demo cluster-demo cdc-demo docs test coverage test-servers test-orchestrators test-browser test-notebook test-oldest page-libraries lint type format fuzz mutants exhaustive simulate simulate-cluster torture torture-modes torture-cdc cdc-cluster hostile increments nemesis rolling-upgrade restore-old soak bench bench-full bench-dlt bench-cdc wheels release clean dev

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

demo: ## five real tables from CSV to Parquet through Spark, with a checkpoint every second
	@.ci/venv $(VENV) spark,demo
	@rm -rf demo-output/parquet
	@$(RUN) examples/demo/prepare.py
	@$(VENV)/bin/seatunnel -c examples/demo/flights.conf
	@echo && echo "Reading the output with other programs than ours:" && $(RUN) examples/demo/verify.py

cluster-demo: ## the same on a cluster of two masters and two workers, whose leader is killed in the middle
	@.ci/venv $(VENV) spark,demo,cluster
	@$(RUN) examples/demo/prepare.py
	@$(RUN) examples/demo/cluster.py

cdc-demo: ## a PostgreSQL database with a writer, copied while it changes by a job that is killed twice, and compared
	@.ci/venv $(VENV) spark,demo,jdbc
	@$(RUN) examples/change-data/demo.py

# More workers than cores: tests of jobs wait for processes that start, rows that come and checkpoints that are due.
test: dev ## everything that needs no server; under 5 minutes on 2 cores
	@$(PYTEST) -n 3 --dist loadgroup --no-loadscope-reorder $(ARGS)

docs: dev ## the documentation as a site, in build/site; a link that leads nowhere fails it
	@NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build
	@echo "The site: build/site/index.html"

COVERING := tests/seatunnel_storage_api tests/job tests/checkpoint tests/plugins/test_hdfs_conformance.py

coverage: dev ## every branch of the storage API, job and checkpoint, by the tests that are about them
	@SEATUNNEL_SEEDS=1000 SEATUNNEL_JOB_SEEDS=40 $(PYTEST) -n 2 --dist loadgroup -m 'not mutants' --cov --cov-report=term $(COVERING) $(ARGS)

# The page of promises is written by whole runs only; what was broken stands in it. TWINS=no leaves out the kit where
# it runs in `make test` or against another server of the same kind.
test-servers: dev ## against real servers, built into the user's cache when missing (MinIO, versitygw, HDFS, a KDC, a Spark cluster), and installs
	@TWINS=$(TWINS) .ci/servers $(VENV)
	@$(if $(TWINS:no=),,echo "NOT RUN with TWINS=no: further servers of a kind, long plays with servers; make test-servers plays them.";) \
	rm -f build/promises.json; failed=0; \
	$(if $(TWINS:no=),$(PYTEST) -n 2 --promise-report=build/promises.json tests/plugins/*/test_*_conformance.py tests/plugins/test_*_conformance.py || failed=1;) \
	$(PYTEST) -n 4 --dist loadfile --no-loadscope-reorder -m '(servers or cluster or install) and not long$(if $(TWINS:no=),, and not twin)' --timeout 900 --durations 25 --promise-report=build/promises.json $(ARGS) || failed=1; \
	$(if $(ARGS)$(TWINS:yes=),,$(RUN) -m seatunnel_storage_api.testing build/promises.json > docs/evidence/promises.md || failed=1;) \
	exit $$failed

test-browser: dev ## the page of a node and of a job in Debian's chromium: each view and action, nodes that die, what axe finds
	@.ci/browser $(VENV)
	@$(PYTEST) -m browser tests/page $(ARGS)

test-notebook: dev ## cells in a kernel of Jupyter, and notebooks as pages in Debian's chromium
	@.ci/browser $(VENV)
	@.ci/venv $(VENV) spark,demo,dev,browser,notebook
	@$(PYTEST) -m notebook tests/application $(ARGS)

# The tests run where Spark is, and start Airflow and Dagster in an environment of their own, which has no Spark.
test-orchestrators: dev ## Airflow and Dagster from the registry with nodes of a cluster that are killed; cron's line and systemd's unit
	@.ci/venv $(VENV)-orchestrators '' -e ./plugins/seatunnel-airflow -e ./plugins/seatunnel-dagster
	@SEATUNNEL_ORCHESTRATORS=$(VENV)-orchestrators $(PYTEST) -m orchestrators --timeout 300 --durations 10 tests/plugins/orchestrators $(ARGS)

# PySpark 4.0 leaves its sockets to the garbage collector, which newer ones do not: no fault of ours.
test-oldest: ## the Spark tests on the oldest PySpark that is supported
	@.ci/venv $(VENV)-oldest spark,demo,dev 'pyspark==4.0.*'
	@$(VENV)-oldest/bin/python -m pytest -m 'spark and not torture and not cluster and not servers and not install' --timeout 300 \
	-W 'ignore:unclosed <socket:ResourceWarning' \
	-W 'ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning' $(ARGS)

# No cache: a file's answer may be older than the files that its imports are sorted by.
lint: dev ## ruff (rules and format) and the layers
	@$(RUN) -m ruff check --no-cache .
	@$(RUN) -m ruff format --no-cache --check .
	@$(VENV)/bin/lint-imports

type: dev ## mypy: --strict for the packages, a milder profile for the tests
	@$(RUN) -m mypy

format: dev ## ruff's fixes and format, in place
	@$(RUN) -m ruff check --fix .
	@$(RUN) -m ruff format .

fuzz: dev ## the property tests, EXAMPLES each; with Maven, the HOCON parser against Lightbend's and SeaTunnel's, and Sql against H2
	@SEATUNNEL_EXAMPLES=$(EXAMPLES) $(PYTEST) -m fuzz -n 2 --timeout 1800 $(ARGS)
	@if command -v mvn > /dev/null && command -v javac > /dev/null; then \
	$(RUN) tests/config/oracle/compare.py --files $(EXAMPLES) && $(RUN) tests/transforms/sql/h2.py; \
	else $(RUN) -c 'from rich import console as c; c.Console().rule("[bold red]THE HOCON ORACLE DID NOT RUN", characters="!", style="bold red")'; \
	echo "Maven and a JDK are not installed: the HOCON parser was not compared with others, nor Sql with H2."; fi

mutants: dev ## the protocol and storages, broken on purpose in every way that we know: the tests have to notice
	@$(PYTEST) -m mutants -n 2 --dist loadgroup --timeout 600 $(ARGS)

exhaustive: dev ## every interleaving of up to four engines on a small pipeline, with the real protocol
	@$(RUN) -m tests.checkpoint.exhaustive $(ARGS)

simulate: dev ## the protocol against crashes, lost and late messages and bad storages, SEEDS times; then JOBS whole jobs
	@$(RUN) -m tests.checkpoint.simulation --seeds $(SEEDS) $(ARGS)
	@$(RUN) -m tests.checkpoint.simulation.jobs --seeds $(JOBS) $(ARGS)
	@$(RUN) -m tests.server.simulation --faults 1000

simulate-cluster: dev ## a cluster against kills, pauses, cuts and bad storages, until FAULTS have happened; goes on where it was
	@mkdir -p build
	@$(RUN) -m tests.server.simulation --faults $(FAULTS) --state build/simulated-faults.jsonl $(ARGS)

torture: dev ## running jobs killed from outside and resumed, RUNS times
	@SEATUNNEL_RUNS=$(RUNS) $(PYTEST) -m torture -s --timeout 36000 $(ARGS)

# CI's torture part plays them too; IDLE is how many seconds idle connections are held to each port.
hostile: dev ## a real node whose users mean it harm, its ports flooded for IDLE seconds, and what parsing a text may cost
	@SEATUNNEL_IDLE_S=$(IDLE) $(PYTEST) -m 'torture or not torture' -s --timeout 600 tests/server/test_hostile.py tests/server/transport/test_gate.py tests/server/rest/test_bodies.py tests/control/test_bounded_server.py tests/config/test_limits.py $(ARGS)

torture-modes: dev ## jobs that merge and replace, killed from outside and resumed, RUNS times for each family of targets
	@for sink in duckdb postgres-modes mariadb-modes iceberg-modes; do $(RUN) -m tests.torture --runs $(RUNS) --sink $$sink $(ARGS) || exit 1; done

torture-cdc: dev ## jobs that capture changes of PostgreSQL, MariaDB and MySQL under a storm, killed KILLS times; ARGS="--database mysql"
	@$(RUN) -m tests.cdc --kills $(KILLS) $(ARGS)

cdc-cluster: dev ## jobs that capture changes on a cluster whose leader, workers and database are killed, for MINUTES; ARGS="--database mysql"
	@$(RUN) -m tests.cdc.on_cluster --minutes $(if $(filter 60,$(MINUTES)),120,$(MINUTES)) $(ARGS)

# The state file keeps what was played: the next batch draws what was played least, and the page sums all of them up.
nemesis: dev ## a real cluster under real faults for MINUTES, at most 20, drawn by SEED; ARGS="--plan workers" chooses the cluster
	@$(RUN) -m tests.server.nemesis --minutes $(if $(filter 60,$(MINUTES)),20,$(MINUTES)) $(if $(SEED),--seed $(SEED)) $(if $(STATE),--state $(STATE)) $(ARGS)

rolling-upgrade: dev ## nodes of the commit OLD replaced one by one by this tree's, while clients submit jobs
	@SEATUNNEL_OLD=$(OLD) $(PYTEST) -m torture -s --timeout 900 tests/server/test_rolling_upgrade.py $(ARGS)

restore-old: dev ## jobs of the commit OLD, killed in the middle and resumed by this tree, with a sink of each kind
	@SEATUNNEL_OLD=$(OLD) $(PYTEST) -m torture -s --timeout 900 tests/runtime/test_old_state.py $(ARGS)

increments: dev ## a job that loads what is new, NIGHTS nights long, killed up to KILLS times; each row once, and the cursor knows
	@$(RUN) -m tests.torture.nights --nights $(NIGHTS) --kills $(KILLS) $(ARGS)

soak: dev ## a streaming job with a watched folder for MINUTES, killed at random and resumed; memory and open files are watched
	@$(RUN) -m tests.torture.soak --minutes $(MINUTES) $(ARGS)

bench: dev ## ratios against Spark, pyarrow, DuckDB and dlt, into build/bench.json
	@.ci/venv $(VENV) spark,demo,dev,bench
	@$(RUN) -m tests.bench $(ARGS)

bench-full: dev ## those and the long ones, and the figures and plots of docs/evidence/benchmarks.md
	@.ci/venv $(VENV) spark,demo,dev,bench
	@$(RUN) -m tests.bench --full $(ARGS)
	@$(RUN) -m tests.bench.page build/bench.json

bench-dlt: dev ## ten tasks by our jobs and by scripts of dlt, and the figures of docs/evidence/beside-dlt.md
	@$(RUN) -m tests.bench.ten_tasks $(ARGS)
	@$(RUN) -m tests.bench.ten_tasks.page build/ten-tasks.json

bench-cdc: dev ## change data capture: 1,000 tables, many chunks, a transaction of 5 million rows, latency; ARGS="--database mariadb"
	@$(RUN) -m tests.cdc.scale $(ARGS)
	@$(RUN) -m tests.cdc.latency $(ARGS)
	@$(RUN) -m tests.cdc.peers.jdbc $(ARGS)

wheels: dev ## every distribution of this clone, wheels and sources, into dist/
	@rm -rf dist
	@for project in . plugins/*/; do $(RUN) -m build --no-isolation --outdir dist "$$project" || exit 1; done

release: wheels ## the same, installed from that folder without an index: what remains is to upload dist/
	@.ci/release $(RUN) dist

page-libraries: dev ## the libraries of the page, fetched again from the npm registry as tests/page/libraries.py names them
	@$(RUN) -m tests.page.libraries

clean: ## what this file made, the virtual environments included
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-orchestrators dist build demo-output torture-output bench-output htmlcov .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

dev:
	@.ci/venv $(VENV) spark,demo,dev
	@$(RUN) -m seatunnel_core.spark.starting.class_archive > /dev/null || echo "There is no archive of Java's classes: Spark starts slower."
