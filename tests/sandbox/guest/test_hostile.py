"""Values and code that want to fool, break or exhaust the worker's own part.

None of it is a boundary: the worker must keep answering, or fail in a way that the host sees.
"""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.sandbox._guest.decode import Decoder, MalformedValue
from sandbox.guest.worker import Worker, once

_LIAR = """
class Liar:
    __class__ = int
    def __repr__(self): return 'I lie'
    def __index__(self): return 7
    def __eq__(self, other): return True
    def __hash__(self): return hash(int)
"""
_CHURN = """
import threading, time
def churn():
    while True: globals()[f'n{time.monotonic_ns() % 50}'] = 1
threading.Thread(target=churn, daemon=True).start()
5
"""
_META = """
class Meta(type):
    def __hash__(cls): return hash(int)
    def __eq__(cls, other): return True
    def __getattribute__(cls, name): raise SystemExit(name)
    def __instancecheck__(cls, other): return True
    @property
    def __name__(cls): raise SystemExit
class Odd(metaclass=Meta):
    pass
"""


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (f"{_LIAR}Liar()", "Liar"),
        (f"{_META}object.__new__(Odd)", "Odd"),
        ("class I(int):\n    def __str__(self): return '$'\nI(3)", "I"),
        ("class S(str):\n    def __len__(self): return -1\nS('x')", "S"),
        ("class D(dict):\n    def items(self): raise KeyError\nD(a=1)", "D"),
        ("class L(list):\n    def __iter__(self): raise KeyError\nL([1])", "L"),
    ],
)
def test_a_class_that_lies_is_shown_as_what_it_is(code: str, name: str) -> None:
    value = once(code)["value"]
    assert value["$"] == "object"
    assert value["type"] == name


@pytest.mark.parametrize(
    "body",
    [
        "raise ValueError",
        "raise SystemExit",
        "raise KeyboardInterrupt",
        "return 5",
        "return self.__repr__()",
        "return 'x' * (1 << 62)",
        "del self",
    ],
)
def test_a_repr_that_fails_does_not_lose_the_rest(body: str) -> None:
    code = (
        f"class Bomb:\n    def __repr__(self): {body}\nprint('out')\nother = 1\nbomb = Bomb()\nbomb"
    )
    with Worker() as worker:
        outcome = worker.run(code)
        assert outcome["error"] is None
        assert outcome["locals"]["other"] == 1
        assert "whose repr fails" in outcome["value"]["repr"]
        assert worker.stdout == "out\n"


def test_a_repr_that_is_a_string_of_another_class_is_cut_all_the_same() -> None:
    code = (
        "class S(str):\n"
        "    def __getitem__(self, key): return self\n"
        "    def __len__(self): return 1\n"
        "class P:\n    def __repr__(self): return S('y' * 10**6)\n"
        "P()"
    )
    assert len(once(code)["value"]["repr"]) == 4000


@pytest.mark.parametrize(
    "code",
    [
        "a = []\na.append(a)\na",
        "d = {}\nd['d'] = d\nd",
        "a = []\nt = (a,)\na.append(t)\nt",
        "x = [0]\nfor _ in range(40): x = [x, x]\nx",
        "x = 'lol'\nfor _ in range(60): x = {'a': x, 'b': x}\nx",
        "x = []\nfor _ in range(100_000): x = [x]\nx",
        "[0] * 10_000_000",
        "'x' * 10_000_000",
        "b'x' * 10_000_000",
        "'\\ud800' * 5_000_000",
        "range(10 ** 30)",
        "10 ** 5000",
        "-10 ** 5000",
        "{i: i for i in range(200_000)}",
        "{'k' * 2_000_000: 1}",
        "list(range(99_999)) + ['x' * 2_000_000]",
    ],
)
def test_a_value_past_its_budget_is_refused_and_the_run_is_not(code: str) -> None:
    outcome = once(f"kept = 1\n{code}")
    assert outcome["value_error"]["kind"] == "result_too_large"
    assert "value" not in outcome
    assert outcome["error"] is None
    assert outcome["locals"]["kept"] == 1


def test_a_wide_and_shared_value_is_refused_at_once() -> None:
    code = "import time\nx = ['a' * 1000] * 90_000\nstarted = time.monotonic()\nx"
    outcome = once(code, want=["value"])
    assert outcome["value_error"]["kind"] == "result_too_large"


@pytest.mark.parametrize(
    "code",
    [
        "import sys\nsys.modules.clear()\n5",
        "import json\njson.dumps = json.loads = None\n5",
        "import base64, os, linecache\nos.write = os.read = None\nlinecache.cache.clear()\n5",
        "import builtins\nbuiltins.repr = builtins.len = builtins.isinstance = None\n5",
        "import builtins\ndel builtins.print, builtins.str\n5",
        "import sys\nsys.stdout = sys.stderr = None\n5",
        "import sys\nsys.stdout.close()\nsys.stderr.close()\n5",
        "import sys\nclass Out:\n    def flush(self): raise ValueError\nsys.stdout = Out()\n5",
        "import gc\ngc.disable()\nglobals().clear()\n5",
        "__builtins__ = None\n5",
        _CHURN,
    ],
)
def test_code_that_breaks_the_worker_ends_in_an_outcome_or_in_its_end(code: str) -> None:
    """Any exception: it is not to hang, and not to continue after half of a frame."""
    with Worker() as worker:
        try:
            outcome = worker.run(code)
        except EOFError:
            assert worker.process.wait(30) != 0
        else:
            assert outcome.get("value") == 5 or outcome["error"] or outcome["value_error"]


def test_names_that_are_no_text_are_no_locals() -> None:
    outcome = once(
        "globals()[5] = 1\nglobals()['a b'] = 2\nclass S(str): pass\nglobals()[S('s')] = 3"
    )
    assert outcome["error"] is None
    assert outcome["locals"] == {"a b": 2}


def test_a_name_with_a_lone_surrogate_does_not_break_the_frame() -> None:
    outcome = once("globals()['\\ud800'] = 1\nx = 2")
    assert outcome["locals"]["x"] == 2


@pytest.mark.parametrize(
    "tagged",
    [
        {"$": "nothing", "v": 1},
        {"$": ["int"], "v": "1"},
        {"$": "int"},
        {"$": "int", "v": "1", "more": 1},
        {"$": "int", "v": 1},
        {"$": "int", "v": "0x10"},
        {"$": "int", "v": "1" * 4301},
        {"$": "int", "v": "\u0661"},
        {"$": "float", "v": "1e3"},
        {"$": "bytes", "v": "a"},
        {"$": "bytes", "v": "ab\ncd"},
        {"$": "bytes", "v": "ä"},
        {"$": "tuple", "v": {"0": 1}},
        {"$": "set", "v": [[1]]},
        {"$": "frozenset", "v": [{"$": "array", "dtype": "int8", "shape": [0], "v": ""}]},
        {"$": "dict", "v": [[1]]},
        {"$": "dict", "v": [[[1], 2]]},
        {"$": "complex", "v": [1, 2]},
        {"$": "complex", "v": [1.0]},
        {"$": "datetime", "v": "tomorrow"},
        {"$": "datetime", "v": "2024-13-01T00:00:00"},
        {"$": "date", "v": "2024-W01-1"},
        {"$": "time", "v": "25:00:00"},
        {"$": "timedelta", "v": [10**15, 0, 0]},
        {"$": "timedelta", "v": [1.5, 0, 0]},
        {"$": "timedelta", "v": [True, 0, 0]},
        {"$": "decimal", "v": "1_0"},
        {"$": "decimal", "v": "1e5"},
        {"$": "fraction", "v": ["1", "0"]},
        {"$": "fraction", "v": [1, 2]},
        {"$": "uuid", "v": "{" + "0" * 36 + "}"},
        {"$": "array", "dtype": "object", "shape": [1], "v": "AAAAAAAAAAA="},
        {"$": "array", "dtype": "int8", "shape": [2], "v": "AA=="},
        {"$": "array", "dtype": "int8", "shape": [-1], "v": "AA=="},
        {"$": "array", "dtype": "int8", "shape": [True], "v": "AA=="},
        {"$": "array", "dtype": "int8", "shape": [1] * 33, "v": "AA=="},
        {"$": "array", "dtype": "int8", "shape": [0, 2**60], "v": ""},
        {"$": "array", "dtype": "int8", "shape": [10**7, 0], "v": ""},
        {"$": "array", "dtype": "int8", "shape": [0, 10**7], "v": ""},
        {"$": "array", "dtype": "int8", "shape": [400, 0, 400], "v": ""},
        [{"$": "array", "dtype": "int8", "shape": [60_000, 0], "v": ""}] * 2,
        {"$": "array", "dtype": "int8", "shape": [60_000, *[1] * 20], "v": "AAAA" * 20_000},
        {"$": "array", "dtype": "int8", "shape": [3] * 12, "v": "AAAA" * (3**11)},
        {"$": "array", "dtype": "bool", "shape": [1], "v": "Ag=="},
        {"$": "table", "name": "missing"},
        {"$": "object", "type": "x", "repr": "y" * 4001},
        {"$": "object", "type": 1, "repr": ""},
        2**53 + 1,
        float("inf"),
        (1, 2),
        object(),
        {1: 2},
    ],
)
def test_what_no_encoder_writes_is_refused(tagged: Any) -> None:
    with pytest.raises(MalformedValue):
        Decoder().decode(tagged)


def test_a_value_nested_too_deeply_or_with_too_many_parts_is_refused() -> None:
    deep: Any = 1
    for _ in range(65):
        deep = [deep]
    for tagged in (deep, [0] * 100_000, {"$": "set", "v": list(range(100_000))}):
        with pytest.raises(MalformedValue):
            Decoder().decode(tagged)
    assert Decoder().decode(deep[0])


@pytest.mark.parametrize("tag", ["set", "frozenset", "dict"])
def test_keys_made_to_collide_are_refused(tag: str) -> None:
    """They would cost the host seconds: Python's hash of numbers has no secret in it."""
    prime = 2**61 - 1
    keys: list[Any] = [{"$": "int", "v": str(prime * n)} for n in range(2, 20_000)]
    with pytest.raises(MalformedValue, match="share a hash"):
        Decoder().decode({"$": tag, "v": [[key, 0] for key in keys] if tag == "dict" else keys})
