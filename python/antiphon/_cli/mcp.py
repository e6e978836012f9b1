"""``antiphon mcp``: serves an object of a user's code to MCP clients."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from antiphon import mcp
from antiphon._cli.exit_codes import Exit
from antiphon._cli.target import import_object
from antiphon._cli.terminal import tell

if TYPE_CHECKING:
    import argparse


def serve(options: argparse.Namespace) -> Exit:
    """Serves until the input ends, or over HTTP until Ctrl-C.

    Raises:
        ValidationError: there is no such object (``team_unknown``), or it cannot be served
            (``mcp_target``).
        AntiphonError: the server failed.
    """
    output = sys.stdout
    # The module may print; over the pipes that would be no message.
    sys.stdout = sys.stderr
    things = [import_object(target, "TARGET") for target in options.target]
    if options.http is None:
        mcp.serve(*things, name=options.name)
        return Exit.ANSWERED
    sys.stdout = output
    hosts = options.allow_host or ()
    with mcp.start(
        *things, port=options.http, host=options.host, name=options.name, allowed_hosts=hosts
    ) as server:
        tell(f"serving at {server.url}; stop with Ctrl-C")
        server.wait()
    return Exit.ANSWERED
