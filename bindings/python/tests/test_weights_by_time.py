"""Weights by when items were there, and products of weights."""

import numpy as np
import pandas
import pytest
from sample import matrix

from absentia import Factorizer, weights

DAY = 86_400


def table():
    """60 days of rows by 12 users; item i appears on day 3 i."""
    rng = np.random.default_rng(1)
    rows = {(int(rng.integers(12)), int(rng.integers(1 + day // 3))): day for day in range(60) for _ in range(5)}
    users, items = np.array(list(rows)).T
    times = 1_400_000_000 + DAY * np.array(list(rows.values()))
    return pandas.DataFrame({"user": users, "item": items, "timestamp": times})


def ages(frame, slices, sharpness):
    """The shares of time, written out."""
    times = np.sort(frame.timestamp.to_numpy())
    starts = np.unique(times[np.arange(slices) * len(times) // slices])
    there = {}
    for item, own in frame.groupby("item"):
        first = np.searchsorted(starts, own.timestamp.min(), side="right") - 1
        before = np.maximum(first - np.arange(len(starts)), 0)
        there[item] = np.exp(-sharpness * len(own) * before / (len(starts) - first)).mean()
    return there


def test_age_is_the_share_of_time_in_which_the_item_was_there():
    frame = table()
    expected = ages(frame, 10, 0.3)
    scheme = weights.Age(c0=0.5, slices=10, sharpness=0.3)
    text = weights.as_weights("age:c0=0.5,slices=10,sharpness=0.3")
    for resolved in (scheme.resolve(frame), text.resolve(frame)):
        assert resolved.rank == 1
        for item, share in expected.items():
            assert resolved.weight(0, item) == pytest.approx(0.5 * share, rel=1e-5)
    assert "first seen in slice" in str(scheme.resolve(frame).explain(0, 19))
    dates = frame.assign(timestamp=pandas.to_datetime(frame.timestamp, unit="s"))
    np.testing.assert_array_equal(scheme.resolve(dates).b, scheme.resolve(frame).b)


def test_availability_has_a_column_for_each_slice():
    frame = table()
    available = weights.Available(mean=0.1).resolve(frame)
    assert available.rank == 20
    np.testing.assert_allclose(available.a.sum(axis=1), available.a.sum(axis=1)[0], rtol=1e-5)
    assert 2 <= weights.Available(mean=0.1, slices="month").resolve(frame).rank <= 3


def test_products_multiply():
    frame = table()
    parts = weights.Popularity(c0=7, alpha=0.5), weights.Activity(alpha=0.25), weights.Age(sharpness=0.4)
    product = (parts[0] * parts[1] * parts[2]).resolve(frame)
    singly = [weights.Popularity(c0=1, alpha=0.5), weights.Activity(c0=1, alpha=0.25), weights.Age(c0=1, sharpness=0.4)]
    for user, item in ((0, 3), (5, 11)):
        expected = 7 * np.prod([part.resolve(frame).weight(user, item) for part in singly])
        assert product.weight(user, item) == pytest.approx(expected, rel=1e-5)
    near = weights.Function(lambda u, i: 1.0 + (u + i) % 2, rank=2)
    groups = weights.Groups([[0.1, 0.2], [0.3, 0.4]], np.arange(12) % 2, np.arange(20) % 2)
    for other in (near, groups):
        both = (other * weights.Age(c0=2)).resolve(frame)
        expected = 2 * other.resolve(frame).weight(3, 4) * weights.Age(c0=1).resolve(frame).weight(3, 4)
        assert both.weight(3, 4) == pytest.approx(expected, rel=1e-4)
    with pytest.raises(ValueError, match="factor by popularity"):
        (near * groups).resolve(frame)
    with pytest.raises(ValueError, match="at most one other"):
        (weights.Available(c0=1) * groups).resolve(frame)
    with pytest.raises(ValueError, match="different values of sharpness"):
        (weights.Available(c0=1, sharpness=0.1) * weights.Age(sharpness=3)).resolve(frame)


def test_release_dates_are_mappings_arrays_or_tables(tmp_path):
    frame = table()
    day = np.datetime64("2014-06-25")
    array = np.full(20, "NaT", dtype="datetime64[D]")
    array[15] = day
    (tmp_path / "dates.csv").write_text(f"item,released\n15,{day}\n")
    seconds = int(day.astype("datetime64[s]").astype(np.int64))
    millis = np.zeros(20, dtype=np.int64)
    millis[15] = 1000 * seconds
    given = (
        {15: day},
        {15: str(day)},
        array,
        str(tmp_path / "dates.csv"),
        tmp_path / "dates.csv",
        {15: seconds},
        {15: 1000 * seconds, 3: None},
        {15: f"{day}T01:00:00+01:00"},
        {15: day.item(), "no such item": "2014"},
    )
    found = [weights.Available(c0=1, released=dates).resolve(frame) for dates in given]
    hidden = found[0].b[15] == 0
    assert hidden.any() and not hidden.all()
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].b, other.b)
    same = [weights.Age(c0=1, released=dates).resolve(frame) for dates in (millis, millis // 1000)]
    np.testing.assert_array_equal(same[0].b, same[1].b)
    with pytest.raises(ValueError, match='entry 15: "soon" is not a date'):
        weights.Age(c0=1, released={15: "soon"}).resolve(frame)


SCHEMES = {
    "age": weights.Age(c0=0.5, slices=10, sharpness=0.25, withdrawn=0.5),
    "available": weights.Available(mean=0.1, slices="week"),
    "product": weights.Popularity(mean=0.1, alpha=0.25) * weights.Activity(alpha=0.5) * weights.Age(),
    "both": weights.Available(mean=0.1) * weights.Age(),
    "dated": weights.Age(mean=0.1, released={3: "2014-05-20"}),
    "groups": weights.Age(mean=0.1) * weights.Groups([[0.1, 0.2], [0.3, 0.4]], np.arange(12) % 2, np.arange(20) % 2),
    "low rank": weights.Popularity(c0=9, alpha=0.4) * weights.LowRank(np.ones((12, 2)), np.ones((20, 2))),
}


@pytest.mark.parametrize("name", SCHEMES)
def test_a_loaded_model_has_its_weights(name, tmp_path):
    frame = table()
    fitted = Factorizer(factors=3, iterations=2, regularization=0.1, weights=SCHEMES[name]).fit(frame)
    fitted.save(tmp_path / "m.absentia")
    loaded = Factorizer.load(tmp_path / "m.absentia")
    again = loaded.weights.resolve(frame)
    np.testing.assert_allclose(again.a @ again.b.T, fitted.weights_.a @ fitted.weights_.b.T, rtol=1e-5)
    if name == "age":
        assert loaded.weights == SCHEMES[name]


def test_data_without_times_is_refused():
    for use in (lambda w: w.resolve(matrix()), lambda w: Factorizer(factors=2, weights=w).fit(matrix())):
        with pytest.raises(ValueError, match="the data has none; give it a column of times"):
            use(weights.Age(mean=0.1))
