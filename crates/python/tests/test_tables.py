"""Tables in the form that other libraries take."""

import pytest

import redpoll
from redpoll import Scenario


@pytest.fixture(scope="module")
def series():
    return redpoll.run(Scenario("line-2", {"duration": "3 s"}), series_s=1.0).series


def place(column):
    """Address of a column's numbers in pyarrow's memory."""
    chunk = column.chunk(0) if hasattr(column, "chunk") else column
    return chunk.buffers()[1].address


def test_pyarrow_takes_a_table_without_copying(series):
    pyarrow = pytest.importorskip("pyarrow")
    one, other = pyarrow.table(series), pyarrow.table(series)
    assert one.num_rows == len(series) and one.column_names == series.columns
    assert one.schema.field("srtt_ms").type == pyarrow.float64()
    # Both tables use the same memory, for texts and for numbers.
    for name in series.columns:
        assert place(one[name]) == place(other[name]), name
    assert one["delivered_bytes"].to_pylist() == series.column("delivered_bytes")


def test_polars_copies_texts_alone(series):
    pyarrow = pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    given, taken = pyarrow.table(series), polars.DataFrame(series)
    numbers = [field.name for field in given.schema if field.type in (pyarrow.float64(), pyarrow.int64())]
    assert len(numbers) > 20
    for name in numbers:
        assert place(taken[name].to_arrow()) == place(given[name]), name


def test_pandas_copies_numbers_as_it_keeps_them(series):
    """pandas stores columns of the same type together, in numpy's format without gaps, so it copies
    Arrow's numbers. `pandas.ArrowDtype` avoids the copy."""
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    given = pyarrow.table(series)
    kept = given.to_pandas(types_mapper=pandas.ArrowDtype)
    for name in series.columns:
        assert place(kept[name].array._pa_array) == place(given[name]), name
    assert list(kept.columns) == list(pandas.DataFrame.from_arrow(series).columns)


def test_flows_and_nodes_of_a_run_are_tables():
    result = redpoll.run(Scenario("line-2", {"duration": "2 s"}))
    flows, nodes = result.flow_table, result.node_table
    assert len(flows) == len(result.flows) == 1 and len(nodes) == len(result.nodes) == 3
    flow = result.flows[0]
    assert flows.column("name") == [flow["name"]]
    assert flows.column("retransmissions.rto") == [flow["retransmissions"]["rto"]]
    assert nodes.column("name") == [node["name"] for node in result.nodes]


def units(table):
    """The unit of each column of numbers; `None` for a column without one."""
    pyarrow = pytest.importorskip("pyarrow")
    schema = pyarrow.table(table).schema
    numbers = [field for field in schema if pyarrow.types.is_integer(field.type) or pyarrow.types.is_floating(field.type)]
    assert numbers
    return {field.name: (field.metadata or {}).get(b"unit") for field in numbers}


def test_each_column_of_numbers_has_a_unit(series, tmp_path):
    result = redpoll.run(Scenario("readings", {"duration": "20 s"}))
    sweep = redpoll.sweep(
        Scenario("pair", {"duration": "1 s"}), grid={"tcp.mss": ["1 frames", "2 frames"]}, results=tmp_path / "a.sqlite"
    )
    tables = [series, result.flow_table, result.node_table, sweep.flows, sweep.nodes]
    for table in tables:
        found = units(table)
        assert not [name for name, unit in found.items() if unit is None]
    assert units(series)["srtt_ms"] == b"ms" and units(series)["frames_sent"] == b"1"
    assert units(result.flow_table)["rtt_ms.p95"] == b"ms"
    assert units(sweep.flows)["goodput_kbps"] == b"kbit/s"


def test_pandas_and_polars_take_a_table(series):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    of_polars = polars.DataFrame(series)
    assert of_polars.shape == (len(series), len(series.columns))
    of_pandas = pandas.DataFrame.from_arrow(series)
    assert list(of_pandas.columns) == series.columns
    flow = of_pandas[of_pandas.kind == "flow"]
    assert flow.delivered_bytes.iloc[-1] == of_polars["delivered_bytes"].max() > 0


def test_a_table_outlives_its_result():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(redpoll.run(Scenario("pair", {"duration": "2 s"}), series_s=1.0).series)
    assert table["kind"].to_pylist()[0] == "flow"


def test_columns_that_are_not_there(series):
    with pytest.raises(ValueError, match="no column"):
        series.column("nothing")
