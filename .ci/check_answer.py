"""Says whether `antiphon ask --json --trace` answered, and whether its trace is whole."""

import json
import sys
from pathlib import Path


def main(path: str, status: str) -> int:
    """Check the answer in the file at `path`; `status` is the command's exit status."""
    answer = json.loads(Path(path).read_text())
    kinds = [event["kind"] for event in answer["trace"]]
    sequence = [event["seq"] for event in answer["trace"]]
    problems = []
    if (status, answer["outcome"]) != ("0", "answered"):
        problems.append(f"the question was not answered: {answer['outcome']}, exit status {status}")
    if not answer["final_answer"].strip():
        problems.append("the answer is empty")
    if kinds[:1] != ["run_started"] or kinds[-1:] != ["run_finished"]:
        problems.append(f"the trace is not whole: {kinds[:1]} to {kinds[-1:]}")
    if "model_reply" not in kinds or sequence != sorted(set(sequence)):
        problems.append("the trace has no reply of a model, or is out of order")
    print(f"the local model answered: {answer['final_answer']!r} by {answer['model']}")
    print("\n".join(problems) or "local model: 1 passed, 0 failed")
    return len(problems)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
