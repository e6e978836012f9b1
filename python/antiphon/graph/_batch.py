"""Many inputs at a time. What only these need is imported when they run: asyncio takes 20 ms."""

from __future__ import annotations

from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from antiphon._graph_errors import GraphBuildError
from antiphon._pause import asks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from antiphon.graph._runtime import RunnableConfig

__all__ = ["Batches"]

_THREADS = 64


class Batches:
    """The half of a compiled graph that runs many inputs."""

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
        from concurrent.futures import ThreadPoolExecutor

        configs = _spread(config, len(inputs))
        width = _width(configs) or _THREADS

        def one(given: Any, settings: RunnableConfig | None) -> Any:
            try:
                return self.invoke(given, settings, **options)
            except Exception as error:
                if return_exceptions:
                    return error
                raise

        with ThreadPoolExecutor(max(1, min(width, len(inputs))), "antiphon-batch") as pool:
            futures = [
                pool.submit(copy_context().run, one, given, settings)
                for given, settings in zip(inputs, configs, strict=True)
            ]
            try:
                return [future.result() for future in futures]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    async def abatch(
        self,
        inputs: Sequence[Any],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **options: Any,
    ) -> list[Any]:
        """`batch` on the caller's event loop, without a limit unless one is set."""
        import asyncio

        configs = _spread(config, len(inputs))
        gate = asyncio.Semaphore(_width(configs) or max(1, len(inputs)))

        async def one(given: Any, settings: RunnableConfig | None) -> Any:
            async with gate:
                try:
                    return await self.ainvoke(given, settings, **options)
                except Exception as error:
                    if return_exceptions:
                        return error
                    raise

        tasks = [
            asyncio.ensure_future(one(given, settings))
            for given, settings in zip(inputs, configs, strict=True)
        ]
        try:
            return await asyncio.gather(*tasks)
        except BaseException as error:
            # What runs beside a question ends first; beside a failure it is cancelled.
            for task in () if asks(error) else tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise


def _spread(
    config: RunnableConfig | Sequence[RunnableConfig] | None, count: int
) -> Sequence[RunnableConfig | None]:
    if config is None or isinstance(config, dict):
        return [config] * count
    configs: Sequence[Any] = config
    if len(configs) != count:
        raise GraphBuildError(
            f"a batch of {count} takes one config or as many, found: {len(configs)}",
            code="call_invalid",
        )
    return configs


def _width(configs: Sequence[RunnableConfig | None]) -> int | None:
    return (configs[0] or {}).get("max_concurrency") if configs else None
