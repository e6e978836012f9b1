"""Docstrings: what is prose, what describes a parameter, what is dropped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon._schema.docstring import Docstring, parse

GOOGLE = """Finds flights.

Only direct ones.
Sorted by price.

Args:
    origin (str): where it starts,
        as a code.
    dest (str, optional): where it ends: a code.
    when: the day

        Past days are refused.
    *legs: more legs.
    **rest: passed on.
    make (Callable[[int], str]): a (nested) type.

Returns:
    prices: not a parameter.

Raises:
    ValueError: never a parameter.

Note: prices change.
"""
NUMPY = """Finds flights.

Only direct ones.

Parameters
----------
origin : str
    Where it starts,
    as a code.
x, y : int, optional
    Both coordinates.
bare
    No type here.
*legs : str
    More legs.

Other Parameters
----------------
rare : {'a', 'b'}
    Seldom.

Returns
-------
price : float
    Not a parameter.

Examples
--------
>>> find("LYS")
"""
SPHINX = """Finds flights.

Only direct ones.

:param origin: where it starts,
    as a code.
:param int count: how many.
:type origin: str
:param list[dict[str, int]] rows: a type with brackets.
:key mode: which one.
:returns: prices.
:rtype: list
:raises ValueError: when it fails,
    badly.
"""


def test_google_style_gives_prose_and_parameters() -> None:
    parsed = parse(GOOGLE)
    assert parsed.summary == "Finds flights."
    assert parsed.description == "Only direct ones.\nSorted by price.\n\nNote: prices change."
    assert parsed.parameters == {
        "origin": "where it starts, as a code.",
        "dest": "where it ends: a code.",
        "when": "the day\nPast days are refused.",
        "legs": "more legs.",
        "rest": "passed on.",
        "make": "a (nested) type.",
    }


def test_numpy_style_gives_prose_and_parameters() -> None:
    parsed = parse(NUMPY)
    assert parsed.text == "Finds flights.\n\nOnly direct ones."
    assert parsed.parameters == {
        "origin": "Where it starts, as a code.",
        "x": "Both coordinates.",
        "y": "Both coordinates.",
        "bare": "No type here.",
        "legs": "More legs.",
        "rare": "Seldom.",
    }


def test_sphinx_style_gives_prose_and_parameters() -> None:
    parsed = parse(SPHINX)
    assert parsed.text == "Finds flights.\n\nOnly direct ones."
    assert parsed.parameters == {
        "origin": "where it starts, as a code.",
        "count": "how many.",
        "rows": "a type with brackets.",
        "mode": "which one.",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, Docstring()),
        ("", Docstring()),
        ("   \n  ", Docstring()),
        ("One line.", Docstring("One line.")),
        ("Over\n    two lines.", Docstring("Over two lines.")),
        (
            "Sum.\n\nArgs:\n    x: a\n    - one\n    - two",
            Docstring("Sum.", "", {"x": "a\n- one\n- two"}),
        ),
        (
            "Sum.\n\nArgs:\n  x:\n    on the next line",
            Docstring("Sum.", "", {"x": "on the next line"}),
        ),
        (
            "Sum.\n\nArgs:\n    x: first\nBack outside.",
            Docstring("Sum.", "Back outside.", {"x": "first"}),
        ),
        ("Sum.\n\nUsage:\n    call it", Docstring("Sum.", "Usage:\n    call it")),
        ("Sum.\n\nNotes\n-----\nKept.", Docstring("Sum.", "Notes\n-----\nKept.")),
        ("Sum.\n\nParameters", Docstring("Sum.", "Parameters")),
        ("Sum.\n\n:class:`X` does it.", Docstring("Sum.", ":class:`X` does it.")),
        ("Sum.\n\n:param: nameless", Docstring("Sum.")),
        ("Sum.\n\n:meta private: x", Docstring("Sum.", ":meta private: x")),
        ("\n    Args:\n        x: only this", Docstring("", "", {"x": "only this"})),
        ("Sum.\n\nAttributes:\n    a: of a class", Docstring("Sum.", "", {"a": "of a class"})),
        ("Sum.\r\n\r\nArgs:\r\n    x: windows\r\n", Docstring("Sum.", "", {"x": "windows"})),
        ("Sum.\n\nArgs:\n    x: first\n    x: second", Docstring("Sum.", "", {"x": "first"})),
        ("Sum.\n\nArgs:\n    no entry here", Docstring("Sum.")),
    ],
)
def test_an_odd_docstring_reads_as_expected(text: str | None, expected: Docstring) -> None:
    assert parse(text) == expected


@given(
    st.lists(
        st.sampled_from(
            [
                "Args:",
                "Parameters",
                "----",
                "    x: y",
                "x : int",
                "    more",
                ":param x: y",
                "",
                "é",
                "Returns:",
            ]
        )
        | st.text(max_size=20)
    )
)
def test_no_text_is_refused(lines: list[str]) -> None:
    parsed = parse("\n".join(lines))
    assert "\n" not in parsed.summary
    assert all(name and text for name, text in parsed.parameters.items())
