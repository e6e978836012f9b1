"""A process that works through a batch, and may be killed or run out of room on the way.

Arguments: the folder, how many questions at a time, at which call of a role the process dies (0
for never), and how many bytes a file may have (0 for any number).
"""

import json
import sys
from pathlib import Path

from antiphon.errors import StateError
from antiphon.systems import ReviewLoop
from systems.lost_question import ROLES, Journal, reply


def main(folder: Path, concurrency: int, dies_at: int, room: int) -> None:
    """Works through the batch, as far as it gets."""
    journal = Journal(str(folder / "journal"), dies_at)

    def role_function(role: str):  # type: ignore[no-untyped-def]  # noqa: ANN202
        def called(brief):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            journal.note(role, f"{brief['question']} {brief['step_id']}")
            return reply(role, brief["instruction"])

        return called

    loop = ReviewLoop(
        **{role: role_function(role) for role in ROLES.values()},
        checkpointer=f"sqlite:{folder / 'runs.db'}" if room == 0 else None,
        durability="sync" if room == 0 else "async",
    )
    if room:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    try:
        report = loop.batch_file(folder / "in.jsonl", folder / "out.jsonl", concurrency=concurrency)
    except StateError as error:
        sys.exit(error.code)
    sys.stdout.write(json.dumps(report.to_dict()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
