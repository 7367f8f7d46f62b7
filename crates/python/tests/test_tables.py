"""Tables as others take them."""

import pytest

import redpoll
from redpoll import Scenario


@pytest.fixture(scope="module")
def series():
    return redpoll.run(Scenario("line-2", {"duration": "3 s"}), series_s=1.0).series


def test_pyarrow_takes_a_table_without_copying(series):
    pyarrow = pytest.importorskip("pyarrow")
    one, other = pyarrow.table(series), pyarrow.table(series)
    assert one.num_rows == len(series) and one.column_names == series.columns
    assert one.schema.field("srtt_ms").type == pyarrow.float64()

    def places(table):
        return [b.address for b in table["t_s"].chunk(0).buffers() if b is not None]

    # Both look at the same memory.
    assert places(one) == places(other)
    assert one["delivered_bytes"].to_pylist() == series.column("delivered_bytes")


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
