"""``python -m tests.page.pictures``: the pictures of docs/guides/web-page.md, from two nodes with real jobs."""

import base64
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.page.browsing import Watched, chromium, watched
from tests.page.histories import write_history
from tests.server.nodes import MEMBERS, a_cluster, free_port, until

PICTURES = Path(__file__).parents[2] / "docs/guides/pictures"
QUALITY = 0.9

ORDERS = """
env {{ job.name = "orders to the lake", job.mode = BATCH, checkpoint.interval = 2000
  read_limit.rows_per_second = 150 }}
source {{
  FakeSource {{ plugin_output = orders, row.num = 20000, split.num = 4000, auto.increment.enabled = true
    parallelism = 1, schema {{ fields {{ id = bigint, customer = string }} }} }}
  FakeSource {{ plugin_output = clicks, row.num = 20000, split.num = 4000, auto.increment.enabled = true
    parallelism = 1, schema {{ fields {{ id = bigint, page = string }} }} }}
}}
transform {{
  Sql {{ plugin_input = orders, plugin_output = small, query = "SELECT id, customer FROM orders WHERE id % 2 = 0" }}
  Copy {{ plugin_input = clicks, plugin_output = marked, fields {{ seen = page }} }}
}}
sink {{
  LocalFile {{ plugin_input = small, path = "{out}/lake", file_format_type = parquet }}
  LocalFile {{ plugin_input = orders, path = "{out}/archive", file_format_type = json }}
  LocalFile {{ plugin_input = marked, path = "{out}/clicks", file_format_type = parquet }}
}}
"""

BROKEN = """
env {{ job.name = "amounts of yesterday", job.mode = BATCH }}
source {{ LocalFile {{ plugin_output = amounts, path = "{out}/amounts.csv", file_format_type = csv
  skip_header_row_number = 1, schema {{ fields {{ id = bigint, amount = "decimal(10, 2)" }} }} }} }}
sink {{ LocalFile {{ plugin_input = amounts, path = "{out}/checked", file_format_type = parquet }} }}
"""

WAITING = """
env {{ job.name = "nightly reports", job.mode = BATCH, tag_filter {{ zone = reports }} }}
source {{ FakeSource {{ plugin_output = n, row.num = 10, schema {{ fields {{ id = bigint }} }} }} }}
sink {{ LocalFile {{ plugin_input = n, path = "{out}/reports", file_format_type = parquet }} }}
"""


def take(seen: Watched, name: str) -> None:
    """Write a picture as WebP, which the browser itself makes of it."""
    encoded = base64.b64encode(seen.page.screenshot(animations="disabled")).decode()
    other = seen.page.context.new_page()
    other.goto("about:blank")
    made = other.evaluate(
        """async ([png, quality]) => {
            const image = new Image();
            image.src = `data:image/png;base64,${png}`;
            await image.decode();
            const canvas = Object.assign(document.createElement("canvas"), {width: image.width, height: image.height});
            canvas.getContext("2d").drawImage(image, 0, 0);
            return canvas.toDataURL("image/webp", quality);
        }""",
        [encoded, QUALITY],
    )
    other.close()
    path = PICTURES / f"{name}.webp"
    path.write_bytes(base64.b64decode(made.partition(",")[2]))
    sys.stdout.write(f"{path}: {path.stat().st_size // 1000} kB\n")


def shown(browser: Any, origin: str, node: str) -> None:
    """Take all pictures; ``node`` is the address of the node that runs the jobs."""
    with watched(browser, origin, height=760) as seen:
        seen.open("#/")
        seen.settle()
        seen.page.locator("tbody .meter").nth(1).wait_for()
        take(seen, "overview")
        seen.open("#/job/amounts")
        seen.settle()
        take(seen, "error")
    with watched(browser, origin, height=980) as seen:
        seen.open("#/submit")
        seen.page.get_by_role("button", name="Check").click()
        seen.page.locator(".fine, .error").wait_for(timeout=120_000)
        take(seen, "submit")
    shown_job(browser, origin)
    with watched(browser, origin, height=700) as seen:
        seen.open(f"#/node/{node}")
        seen.page.get_by_text("Heap", exact=True).wait_for()
        take(seen, "node")
    with watched(browser, origin, width=390, height=844) as seen:
        seen.open("#/jobs/pending")
        seen.settle()
        take(seen, "phone-pending")
    with watched(browser, origin, width=390, height=844, dark=True) as seen:
        seen.open("#/job/orders")
        seen.settle()
        time.sleep(8)
        take(seen, "phone-job")


def shown_job(browser: Any, origin: str) -> None:
    """Take the pictures of a job that runs."""
    with watched(browser, origin, height=900, dark=True) as seen:
        seen.open("#/job/orders")
        seen.settle()
        time.sleep(40)
        seen.page.mouse.move(640, 470)
        take(seen, "job")
        seen.page.get_by_role("link", name="Metrics").click()
        seen.page.locator(".plot").nth(3).wait_for()
        take(seen, "metrics")
        seen.page.get_by_role("link", name="Attempts").click()
        seen.page.get_by_role("region", name="Attempts", exact=True).first.wait_for()
        take(seen, "attempts")
        seen.page.get_by_role("link", name="Checkpoints").click()
        seen.page.locator(".plot").nth(2).wait_for()
        seen.page.get_by_text("Age of the last").wait_for()
        take(seen, "checkpoints")


def main() -> None:
    """Start two nodes with jobs, and take the pictures."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pictures-") as name, a_cluster(Path(name) / "nodes") as cluster:
        folder = cluster.folder
        nodes = [cluster.node(), cluster.node()]
        (folder / "config/hazelcast.yaml").write_text(MEMBERS.format(members=[node.address for node in nodes]))
        write_history(folder, 1_200, plain=True)
        port = free_port()
        nodes[0].start("--http-port", str(port))
        nodes[0].wait_ready()
        nodes[1].start()
        (folder / "amounts.csv").write_text("id,amount\n" + "".join(f"{n},{n}.50\n" for n in range(1, 40)) + "40,n/a\n")
        nodes[0].submit(BROKEN.format(out=folder), "amounts")
        nodes[0].wait_end("amounts")
        nodes[0].submit(ORDERS.format(out=folder), "orders")
        nodes[0].submit(WAITING.format(out=folder), "reports")
        nodes[0].wait_rows("orders")
        nodes[1].wait_ready()
        nodes[0].kill_host()
        until("the job goes on", lambda: nodes[0].job("orders").get("attempts") == 2)
        with chromium() as browser:
            shown(browser, f"http://127.0.0.1:{port}", nodes[0].address)


if __name__ == "__main__":
    main()
