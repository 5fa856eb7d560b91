"""Quantities: which number, how the API server writes it, and what HAMi's AsInt64 makes of it.

The rows are what apimachinery v0.35.4 answered (`resource.Quantity` from JSON, rounded as in a resource list, to JSON
and back); 220,000 random texts and floats were held against it once, and tests/e2e asks the API server itself.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.utils.quantity import parse_quantity

from webhook.quantity import MOST, as_int64, canonical, is_quantity, quantity

ROWS: list[tuple[object, object, str, int | None]] = [
    (3000, 3000, "3k", 3000),
    ("3000", 3000, "3k", 3000),
    ("3k", 3000, "3k", 3000),
    (1024, 1024, "1024", 1024),
    ("16384", 16384, "16384", 16384),
    ("2048Mi", 2**31, "2Gi", 2**31),
    ("1.5Gi", 1536 * 2**20, "1536Mi", 1536 * 2**20),
    ("0.5Gi", 2**29, "512Mi", 2**29),
    ("1000Ki", 1024000, "1000Ki", 1024000),
    ("0.5Ki", 512, "512", 512),
    ("1.0", 1, "1", 1),
    ("+5", 5, "+5", 5),
    ("5.001", Fraction(5001, 1000), "5.001", None),
    ("2.001k", 2001, "2.001k", 2001),
    ("2.000k", 2000, "2k", 2000),
    ("-1", -1, "-1", -1),
    ("-0", 0, "0", 0),
    ("007", 7, "007", 7),
    ("1.G", 10**9, "1.G", 10**9),
    (".5", Fraction(1, 2), "500m", None),
    (1.5, Fraction(3, 2), "1500m", None),
    ("1500m", Fraction(3, 2), "1500m", None),
    ("1000m", 1, "1", 1),
    ("1100m", Fraction(11, 10), "1100m", None),
    ("1e3", 1000, "1e3", 1000),
    ("2e4", 20000, "20e3", 20000),
    (2e4, 20000, "20k", 20000),
    ("1E2", 100, "100", 100),
    ("1e-3", Fraction(1, 1000), "1e-3", None),
    (1e30, 10**30, "1e+30", None),
    (2.0**62, 4611686018427388000, "4611686018427388k", 4611686018427388000),
    (1e16, 10**16, "10P", 10**16),
    ("1n", Fraction(1, 1000), "1m", None),
    ("1.0001", Fraction(1001, 1000), "1001m", None),
    ("0.9999", 1, "1", 1),
    ("0.0000000001", Fraction(1, 1000), "1m", None),
    ("-1.5n", Fraction(-1, 1000), "-1m", None),
    ("1E", 10**18, "1E", 10**18),
    ("9E", 9 * 10**18, "9E", 9 * 10**18),
    ("8Ei", MOST, str(MOST), None),
    ("10Ti", 10 * 2**40, "10Ti", 10 * 2**40),
    ("100Ti", 100 * 2**40, "100Ti", None),
    ("300Ti", 300 * 2**40, "300Ti", None),
    (" 4 ", 4, "4", 4),
]


@pytest.mark.parametrize(("written", "number", "text", "integer"), ROWS)
def test_quantity_is_read_and_written_as_the_api_server_does(
    written: object, number: object, text: str, integer: int | None
) -> None:
    assert quantity(written) == number
    assert canonical(written) == text
    assert as_int64(written) == integer


NONE: list[object] = ["", "abc", "k", ".", "-", "Mi", "16GB", "16gi", "1 Gi", "1e", "1.2.3", "Infinity", "0x10"]


@pytest.mark.parametrize("none", [*NONE, None, True, [], float("inf"), "9" * 200])
def test_what_is_no_quantity_is_none(none: object) -> None:
    assert (quantity(none), canonical(none), as_int64(none)) == (None, None, None)


def test_an_exponent_beyond_all_use_costs_nothing() -> None:
    assert quantity("1e999999999") == 10**99
    assert quantity("-1e-999999999") == Fraction(-1, 1000)
    assert canonical("1e999999999") == "1e999999999"
    assert as_int64("1e999999999") is None


SUFFIXES = [
    "",
    "n",
    "u",
    "m",
    "k",
    "M",
    "G",
    "T",
    "P",
    "E",
    "Ki",
    "Mi",
    "Gi",
    "Ti",
    "Pi",
    "Ei",
    "e3",
    "E3",
    "e-2",
    "e0",
]
TEXTS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**6).map(str) | st.just("007"),
    st.sampled_from(["", ".", ".0", ".5", ".25", ".001", ".000000001"]),
    st.sampled_from(SUFFIXES),
)


@given(TEXTS)
def test_numbers_agree_with_the_kubernetes_client(text: str) -> None:
    theirs, ours = Fraction(parse_quantity(text)), quantity(text)  # type: ignore[no-untyped-call]
    assert is_quantity(text)
    assert ours is not None
    ours = Fraction(ours)
    if text.endswith("i") and abs(theirs) > MOST:
        assert abs(ours) == MOST
    else:  # the client does not round to a thousandth
        assert abs(ours - theirs) < Fraction(1, 1000)
        assert abs(ours) >= abs(theirs)


@given(TEXTS)
def test_canonical_text_is_the_same_number_and_is_canonical(text: str) -> None:
    written, number = canonical(text), quantity(text)
    assert written is not None
    assert number is not None
    number = Fraction(number)
    if abs(number) < 10**21:  # there the API server runs out of suffixes and drops them (`2000E` becomes `2`)
        assert quantity(written) == number
    assert canonical(written) == written
    assert as_int64(written) == as_int64(text) or abs(number) >= 10**21


def test_a_whole_number_is_an_int_however_it_is_written() -> None:
    assert type(quantity("1500m")) is Fraction
    assert type(quantity("1000m")) is int


@pytest.mark.parametrize(("text", "number"), [("1 ", 1), (" 16Gi", 2**34), ("  3k  ", 3000)])
def test_blanks_round_a_quantity_are_none_of_it(text: str, number: int) -> None:
    assert is_quantity(text)
    assert (quantity(text), as_int64(text)) == (number, number)


@pytest.mark.parametrize("text", ["", " ", "1 0", "\t1", "1\n", "Gi", "+", "."])
def test_what_is_no_quantity(text: str) -> None:
    assert not is_quantity(text)
    assert quantity(text) is None
