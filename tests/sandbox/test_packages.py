"""Packages that users bring along, in the versions that they have: installed beside the tests' own.

They come from the index that pip knows, once for each environment. These tests are skipped only
where that index cannot be reached; they fail if it can, and pip fails all the same.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.engines import needs
from support.torture import rounds

_BESIDE = Path(sys.prefix) / "beside"
_TIMEOUT = 300
_OLD = ["matplotlib==3.7.5 numpy==1.26.4"]
_MORE = ["matplotlib==3.8.4 numpy==1.26.4", "matplotlib==3.9.4", "matplotlib==3.10.8"]
_RUN = """
import json, sys
from antiphon.sandbox import Limits, Sandbox
packages, code, limits = json.loads(sys.argv[1])
with Sandbox("process", packages=packages, limits=Limits(wall=60, **limits)) as box:
    result = box.run(code)
    kind = result.error and result.error.kind
    summary = [kind, str(result.error), result.value, result.stderr, len(result.figures)]
    print(json.dumps(summary))
"""

pytestmark = [
    pytest.mark.network,
    needs("process"),
]


def _beside(wanted: str) -> Path:
    """A folder with these packages, without what they need: that is in the environment."""
    home = _BESIDE / wanted.partition(" ")[0].replace("==", "-")
    if not home.exists():
        unfinished = home.with_suffix(f".{os.getpid()}")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        options = ["--only-binary", ":all:", "--target", str(unfinished)]
        done = subprocess.run(
            [*command, *options, *wanted.split()],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
        if done.returncode:
            message = f"pip cannot install {wanted}: {done.stderr.strip()[-300:]}"
            pytest.fail(message) if _reaches_index() else pytest.skip(message)
        # Another worker may have been faster.
        with contextlib.suppress(OSError):
            unfinished.rename(home)
    return home


def _reaches_index() -> bool:
    """Whether pip finds there what every index has: pip."""
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "index", "versions", "pip"],
        capture_output=True,
        timeout=_TIMEOUT,
        env={**os.environ, "PIP_FIND_LINKS": ""},
        check=False,
    )
    return asked.returncode == 0


class _Index(BaseHTTPRequestHandler):
    """An index that has pip, and nothing else."""

    def do_GET(self) -> None:
        """Names one file of pip."""
        known = self.path == "/simple/pip/"
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b'<a href="/pip-1.0-py3-none-any.whl">pip</a>')

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


@pytest.mark.parametrize(
    ("serves", "outcome"), [(True, pytest.fail.Exception), (False, pytest.skip.Exception)]
)
def test_only_an_index_that_cannot_be_reached_excuses_a_test(
    serves: bool, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Index)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    try:
        if not serves:
            _close(server)
        # A test that is skipped would not tell that it should have failed.
        with pytest.raises((pytest.fail.Exception, pytest.skip.Exception)) as raised:
            _beside("no-such-package==1.0")
        assert raised.type is outcome
        assert "no-such-package" in str(raised.value)
    finally:
        _close(server)
        thread.join()


def _close(server: ThreadingHTTPServer) -> None:
    server.shutdown()
    server.server_close()


def _run(packages: list[str], code: str, beside: str | None = None, **limits: Any) -> list[Any]:
    """Kind and text of the failure, value, standard error and number of figures of a run."""
    path = {} if beside is None else {"PYTHONPATH": str(_beside(beside))}
    done = subprocess.run(
        [sys.executable, "-c", _RUN, json.dumps([packages, code, limits])],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        env={**os.environ, **path},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    summary: list[Any] = json.loads(done.stdout)
    return summary


_PLOT = "import matplotlib\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('a')\n"


@pytest.mark.parametrize("wanted", _OLD + rounds(0, 1) * _MORE)
def test_every_matplotlib_since_3_7_draws_without_a_word(wanted: str) -> None:
    version = wanted.partition("==")[2].partition(" ")[0]
    summary = _run(["matplotlib"], _PLOT + "matplotlib.__version__", wanted)
    assert summary == [None, "None", version, "", 1]


def test_the_matplotlib_of_the_tests_draws_without_a_word_though_pandas_brings_it() -> None:
    code = _PLOT + "import pandas\npandas.Series([1, 2]).plot()\n1"
    assert _run(["pandas", "matplotlib"], code) == [None, "None", 1, "", 1]


_STATSMODELS = (
    "statsmodels==0.15.0 scipy==1.17.1 patsy==1.0.3 formulaic==1.2.2 interface_meta==2.0.1"
    " wrapt==2.5.2 narwhals==2.29.0"
)
_FIT = """
import pandas as pd, statsmodels.api as sm, statsmodels.formula.api as smf
data = pd.DataFrame({"a": [1.0, 2.0, 3.5, 4.0], "b": [1.0, 2.0, 4.0, 5.0]})
fits = smf.ols("a ~ b", data).fit(), sm.OLS(data.a, sm.add_constant(data.b)).fit()
[round(float(fit.params.iloc[1]), 3) for fit in fits]
"""


def test_statsmodels_fits_under_the_default_limits() -> None:
    kind, text, value, stderr, _ = _run(["statsmodels"], _FIT, _STATSMODELS)
    assert (kind, value, stderr) == (None, [0.75, 0.75], ""), text


def test_a_library_that_does_not_fit_into_memory_is_reported_as_the_memory_limit() -> None:
    # pandas is loaded, scipy is not: the worker maps its libraries.
    summary = _run(["pandas", "scipy"], "import scipy.stats\n1", _STATSMODELS, memory=16 * 2**20)
    assert summary[0] == "memory_limit", summary
