"""JSON objects whose values are of every kind, and near the borders between kinds."""

from hypothesis import strategies as st

WORDS = r"""1 0 -0 -1 9007199254740992 9007199254740993 9223372036854775807 9223372036854775808 -9223372036854775809
    1.5 0.1 -0.0 1e2 1.10 1e400 1e-400 5e-324 0.1234567890123456789 123456789012345678 18446744073709551616 true false
    null "007" "7" "" "x" "true" "2024-01-31" "2024-02-30" "0000-01-01" "2024-01-31T10:20:30" "2024-01-31~10:20"
    "2024-01-31T24:00:00" "2024-01-31T10:20:30.123456" "2024-01-31T10:20:30.1234567" "2024-01-31T10:20:30Z"
    "2024-01-31T10:20:30+02:00" "9999-12-31T23:59:59.999999Z" "10:20:30" "NaN" "-Infinity" "nan" NaN Infinity
    {} [] [null] [[1]] {"a":null}"""
SCALARS = st.sampled_from([word.replace("~", " ") for word in WORDS.split()])
NAMES = st.sampled_from(["a", "b", "c", "id"])


def objects(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    fields = st.dictionaries(NAMES, values, max_size=3)
    return fields.map(lambda found: "{" + ",".join(f'"{name}":{value}' for name, value in found.items()) + "}")


VALUES = st.recursive(
    SCALARS,
    lambda each: objects(each) | st.lists(each, max_size=3).map(lambda some: f"[{','.join(some)}]"),
    max_leaves=5,
)
ROWS = st.lists(objects(VALUES).map(str.encode), max_size=8)
