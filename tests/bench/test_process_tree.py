"""What a process tree spends is counted, whoever waits for its processes or does not."""

import os
import subprocess
import sys
import textwrap

from tests.bench.process_tree import watched

BURNT_S = 0.8

_BURN = f"""
def burn():
    while time.process_time() < {BURNT_S}:
        pass
    time.sleep(1)
    os._exit(0)
"""


def spent_by(program: str) -> float:
    """Seconds of the processor, by the look at a child that ends after its children."""
    text = f"import os, signal, time\n{_BURN}\n{textwrap.dedent(program)}"
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE) as child, watched(child) as tree:
        assert child.stdout is not None
        child.stdout.read()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert child.returncode == 0
    return tree.cpu_s


def test_a_worker_counts_whose_end_nobody_waits_for() -> None:
    """As the workers of PySpark's daemon, which ignores that they end: the kernel adds their time to nobody's."""
    spent_s = spent_by("""
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        if not os.fork():
            burn()
        try:
            os.wait()
        except ChildProcessError:
            pass
    """)
    assert BURNT_S * 0.8 < spent_s < BURNT_S * 2


def test_a_worker_counts_that_outlives_its_parent() -> None:
    """As the workers of a template: they burn when their parent is gone, and the child still runs."""
    spent_s = spent_by("""
        ended, open_until_it_ends = os.pipe()
        template = os.fork()
        if not template:
            if not os.fork():
                burn()
            os._exit(0)
        os.close(open_until_it_ends)
        os.waitpid(template, 0)
        os.read(ended, 1)
    """)
    assert BURNT_S * 0.8 < spent_s < BURNT_S * 2


def test_nothing_is_left_behind() -> None:
    spent_by("""
        if not os.fork():
            os.close(1)
            time.sleep(0.5)
            os._exit(0)
    """)
    children = subprocess.run(["ps", "-o", "args=", "--ppid", str(os.getpid())], stdout=subprocess.PIPE, text=True)
    assert "burn" not in children.stdout
