"""What the benchmark says of its figures."""

from tests.bench import page
from tests.bench.bench import Played
from tests.bench.figure import Figure, at_least, at_most


def test_a_goal_is_judged_by_the_median_unless_the_rounds_disagree() -> None:
    def verdict(*values: float) -> str:
        return Figure(what="x", values=values, goal=at_most(1.25)).verdict

    assert verdict(1.1, 1.2, 1.2, 1.2, 9.0) == "reached"
    assert verdict(1.3, 1.4, 1.3, 1.3, 0.1) == "missed"
    assert verdict(1.0, 1.1, 1.2, 1.3, 1.4) == "within the noise"
    assert verdict(1.26) == "missed"
    assert Figure(what="x", values=(1.0,)).verdict == ""


def test_a_ratio_is_taken_within_each_round() -> None:
    """The machine was three times as slow in the second round."""
    played = Played([{"a": {"wall_s": 4.0}, "b": {"wall_s": 2.0}}, {"a": {"wall_s": 12.0}, "b": {"wall_s": 6.0}}])
    figure = played.ratio("a", "b", "wall_s", at_least(2))
    assert figure.values == (2.0, 2.0)
    assert str(figure) == "a / b, after Spark is up: 2.00 (2.00 to 2.00); goal ≥ 2: reached"


def test_the_page_has_the_goals_and_each_case() -> None:
    goals = Figure(what="ours / floor", values=(1.0, 1.1, 1.2), goal=at_most(1.25))
    plain = Figure(what="ours", values=(4.0,), unit="s")
    rounds = [{"ours": {"start_to_exit_s": 4.0}, "floor": {"start_to_exit_s": 2.0}}]
    case = {"case": "csv", "title": "CSV", "figures": [goals.as_json(), plain.as_json()], "rounds": rounds}
    machine = dict.fromkeys(("date", "processors", "model", "system", "python", "pyspark", "pyarrow", "load"), "x")
    said = page.figures_of({"machine": {**machine, "memory_bytes": 2**34}, "rounds": 3, "cases": [case]})
    assert "| csv | ours / floor | ≤ 1.25 | **1.10 (1.00 to 1.20)** | reached |" in said
    assert "| ours | 4.00 s |" in said
    assert "(benchmarks/csv.svg)" in said
