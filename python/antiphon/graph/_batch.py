"""Batches of a compiled graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antiphon._batch import call_in_threads, gather
from antiphon._graph_errors import GraphBuildError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from antiphon.graph._runtime import RunnableConfig

_THREADS = 64


class Batches:
    """Runs a compiled graph for many inputs."""

    invoke: Callable[..., Any]
    ainvoke: Callable[..., Any]

    def batch(
        self,
        inputs: Sequence[Any],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **options: Any,
    ) -> list[Any]:
        """Runs the graph once per input, in threads.

        Args:
            inputs: the inputs.
            config: settings for all runs, or a sequence with one for each. Of the first,
                ``max_concurrency`` bounds how many run at a time. Default: 64.
            return_exceptions: hand a failure back in its place instead of raising it.
            **options: as for ``invoke``.

        Returns:
            The results, in the order of the inputs.
        """
        configs = _spread(config, len(inputs))

        def one(given: tuple[Any, RunnableConfig | None]) -> Any:
            try:
                return self.invoke(*given, **options)
            except Exception as error:
                if return_exceptions:
                    return error
                raise

        pairs = list(zip(inputs, configs, strict=True))
        return call_in_threads(one, pairs, _width(configs) or _THREADS)

    async def abatch(
        self,
        inputs: Sequence[Any],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **options: Any,
    ) -> list[Any]:
        """`batch` on the caller's event loop, without a limit unless one is set."""
        configs = _spread(config, len(inputs))

        async def one(given: tuple[Any, RunnableConfig | None]) -> Any:
            try:
                return await self.ainvoke(*given, **options)
            except Exception as error:
                if return_exceptions:
                    return error
                raise

        pairs = list(zip(inputs, configs, strict=True))
        return await gather(one, pairs, _width(configs) or max(1, len(inputs)))


def _spread(
    config: RunnableConfig | Sequence[RunnableConfig] | None, count: int
) -> Sequence[RunnableConfig | None]:
    if config is None or isinstance(config, dict):
        return [config] * count
    configs: Sequence[Any] = config
    if len(configs) != count:
        raise GraphBuildError(
            f"a batch of {count} inputs takes one config or {count}, found: {len(configs)}",
            code="call_invalid",
        )
    return configs


def _width(configs: Sequence[RunnableConfig | None]) -> int | None:
    return (configs[0] or {}).get("max_concurrency") if configs else None
