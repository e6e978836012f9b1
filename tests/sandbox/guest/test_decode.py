"""The host's side of values: what goes in, and what a worker may claim."""

from __future__ import annotations

import pytest

from antiphon.errors import WorkerCrashed
from antiphon.sandbox import Opaque
from antiphon.sandbox._guest.budget import TooLarge
from antiphon.sandbox._job import tag
from antiphon.sandbox._outcome import decode_value


def test_a_claim_that_no_worker_makes_is_a_crash() -> None:
    with pytest.raises(WorkerCrashed, match="a tag is not known") as caught:
        decode_value([{"$": "pickle", "v": "gASVAA=="}])
    assert caught.value.code == "sandbox_crashed"


def test_a_table_is_what_came_along_under_its_name() -> None:
    frame = object()
    assert decode_value([{"$": "table", "name": "t"}], {"t": frame}) == [frame]
    with pytest.raises(WorkerCrashed):
        decode_value({"$": "table", "name": "u"}, {"t": frame})


def test_what_has_no_form_is_inert_text() -> None:
    value = decode_value({"$": "object", "type": "os.system", "repr": "os.system('rm')"})
    assert value == Opaque("os.system", "os.system('rm')")
    assert (str(value), hash(value)) == ("os.system('rm')", hash(tuple(value)))


def test_a_budget_of_the_host_is_its_own() -> None:
    with pytest.raises(WorkerCrashed):
        decode_value([1, 2, 3], nodes=3)
    with pytest.raises(WorkerCrashed):
        decode_value([[1]], depth=1)


def test_a_value_for_the_worker_has_a_form_and_a_size() -> None:
    with pytest.raises(TypeError, match="cannot be passed"):
        tag([object()], 1_000)
    with pytest.raises(TooLarge, match="more than 5 bytes"):
        tag("long text", 5)
    value = (1, {2: b"x"}, frozenset({3.5}))
    assert decode_value(tag(value, 1_000)) == value
