"""Says whether `antiphon ask --json --trace` answered, and whether its traces are whole."""

import json
import sys
from pathlib import Path
from typing import Any

ENOUGH = 2
"""How many of the questions have to be answered."""


def problems(answer: dict[str, Any]) -> list[str]:
    """What is wrong with the trace of one answer."""
    kinds = [event["kind"] for event in answer["events"]]
    sequence = [event["seq"] for event in answer["events"]]
    found = []
    if kinds[:1] != ["run_started"] or kinds[-1:] != ["run_finished"]:
        found.append(f"the trace is not whole: {kinds[:1]} to {kinds[-1:]}")
    if "model_reply" not in kinds:
        found.append("the trace has no reply of a model")
    if sequence != sorted(set(sequence)):
        found.append("the trace is out of order")
    return found


def main(folder: str) -> int:
    """Check the answers in `folder`: each trace, and that enough questions were answered."""
    answered, failed = 0, 0
    for path in sorted(Path(folder).glob("*.json")):
        answer = json.loads(path.read_text())
        wrong = problems(answer)
        failed += len(wrong)
        answered += answer["outcome"] == "answered" and bool(answer["final_answer"].strip())
        print(f"{path.stem}: {answer['outcome']}: {answer['final_answer']!r} by {answer['model']}")
        print("".join(f"  {line}\n" for line in wrong), end="")
    if answered < ENOUGH:
        failed += 1
        print(f"fewer than {ENOUGH} questions were answered")
    print(f"local model: {answered} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
