"""Systems that are ready to use, each a graph of agents with typed settings and a typed result.

Example:
    >>> from antiphon.models import scripted
    >>> from antiphon.systems import ReviewLoop
    >>> approve = {"json": {"decision": "approve"}}
    >>> model = scripted(
    ...     [
    ...         {"json": {"research_steps": [], "expert_steps": ["add the numbers"]}},
    ...         approve,
    ...         {"json": {"reasoning_trace": "17 + 25 = 42", "expert_answer": "42"}},
    ...         approve,
    ...         {"json": {"final_reasoning_trace": "17 + 25 = 42", "final_answer": "42"}},
    ...     ]
    ... )
    >>> ReviewLoop(model).run("What is 17 plus 25?").answer
    '42'
"""

from antiphon._batch_file import BatchReport, LineProblem
from antiphon._roles import RoleContext
from antiphon.systems._analyst_request import AgentRequest
from antiphon.systems._system import System
from antiphon.systems.agentic_search import AgenticSearch
from antiphon.systems.agentic_search_result import (
    AgenticSearchResult,
    ComputedFigure,
    ExecutionPlan,
    FailedTask,
    GatheredInformation,
    SearchSource,
    SearchTask,
    TaskError,
    TaskResult,
)
from antiphon.systems.computation import Computation
from antiphon.systems.computation_result import (
    ComputationAttempt,
    ComputationResult,
    ComputationSource,
    RejectedWording,
)
from antiphon.systems.data_analyst import DataAnalyst
from antiphon.systems.data_analyst_result import (
    AgentError,
    AgentResult,
    OrchestratorResponse,
    PlannerDecision,
    TraceEvent,
)
from antiphon.systems.deep_research import DeepResearch
from antiphon.systems.deep_research_records import (
    CitedPassage,
    Claim,
    Observation,
    ResearchSource,
    ResearchStep,
)
from antiphon.systems.deep_research_result import DeepResearchResult
from antiphon.systems.plan_execute import PlanExecute
from antiphon.systems.plan_execute_result import (
    ExecutedStep,
    PlanExecuteResult,
    PlanStep,
    StepError,
)
from antiphon.systems.queue import Queue
from antiphon.systems.registry import SystemInfo, find, systems
from antiphon.systems.result import SystemResult
from antiphon.systems.review_loop import ReviewLoop
from antiphon.systems.review_loop_result import ReviewLoopResult
from antiphon.systems.stream import AsyncSystemStream, SystemStream
from antiphon.systems.tabular import TabularResult
from antiphon.systems.worker import Worker, WorkerNotice, WorkerTally

__all__ = [
    "AgentError",
    "AgentRequest",
    "AgentResult",
    "AgenticSearch",
    "AgenticSearchResult",
    "AsyncSystemStream",
    "BatchReport",
    "CitedPassage",
    "Claim",
    "Computation",
    "ComputationAttempt",
    "ComputationResult",
    "ComputationSource",
    "ComputedFigure",
    "DataAnalyst",
    "DeepResearch",
    "DeepResearchResult",
    "ExecutedStep",
    "ExecutionPlan",
    "FailedTask",
    "GatheredInformation",
    "LineProblem",
    "Observation",
    "OrchestratorResponse",
    "PlanExecute",
    "PlanExecuteResult",
    "PlanStep",
    "PlannerDecision",
    "Queue",
    "RejectedWording",
    "ResearchSource",
    "ResearchStep",
    "ReviewLoop",
    "ReviewLoopResult",
    "RoleContext",
    "SearchSource",
    "SearchTask",
    "StepError",
    "System",
    "SystemInfo",
    "SystemResult",
    "SystemStream",
    "TabularResult",
    "TaskError",
    "TaskResult",
    "TraceEvent",
    "Worker",
    "WorkerNotice",
    "WorkerTally",
    "find",
    "systems",
]
