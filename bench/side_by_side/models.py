"""Section `models`: forward passes and training steps of whole networks."""

import gc
import resource
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from side_by_side.networks import Network, networks
from side_by_side.timing import Case, Clock, settle


def cases(T: ModuleType, options: Namespace) -> Iterator[Case]:
    if options.threads:
        T.set_num_threads(options.threads)
    known = networks(T)
    for name in options.models:
        for phase in options.phases:
            batch = known[name].batch(options.device, phase)
            for mode in options.modes:
                run = Run(T, options, known[name], phase, mode, batch)
                key = f"{name}_{phase}_b{batch}_{mode}"
                yield key, lambda run=run, key=key: run.measure(key)
    yield (
        "models_peak_rss_mib",
        lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


class Run:
    """One network in one phase and mode."""

    def __init__(
        self,
        T: ModuleType,
        options: Namespace,
        network: Network,
        phase: str,
        mode: str,
        batch: int,
    ) -> None:
        self.T, self.network, self.mode, self.batch = T, network, mode, batch
        self.device, self.dtype = options.device, getattr(T, options.dtype)
        self.is_training = phase == "train"

    def measure(self, key: str) -> dict[str, float]:
        """Milliseconds per step; of compiled steps also the seconds of the first one."""
        clock = Clock(self.T, self.device)
        step = self.step()
        start = time.perf_counter()
        step()
        clock.synchronize()
        first = {f"{key}_first_s": time.perf_counter() - start}
        if self.mode != "eager":
            settle(self.T)
            first[f"{key}_settled_first_s"] = time.perf_counter() - start
        repeats = self.network.repeats
        later = {f"{key}_ms": clock.milliseconds(step, repeats, warm=max(2, repeats // 5))}
        return later if self.mode == "eager" else later | first

    def step(self) -> Callable[[], Any]:
        self.T.manual_seed(0)
        gc.collect()
        model = self.network.build().to(self.device)
        x = self.network.make_input(self.batch, self.device)
        return self.training(model, x) if self.is_training else self.inference(model, x)

    def compiled(self, model: Any) -> Any:
        if self.mode == "eager":
            return model
        settings = {} if self.mode == "compile" else {"mode": self.mode}
        return self.T.compile(model, **settings)

    def inference(self, model: Any, x: Any) -> Callable[[], Any]:
        forward = self.compiled(model.eval().to(self.dtype))
        x = x.to(self.dtype) if x.is_floating_point() else x

        def step() -> Any:
            with self.T.no_grad():
                return forward(x)

        return step

    def training(self, model: Any, x: Any) -> Callable[[], Any]:
        T = self.T
        forward = self.compiled(model.train())
        optimizer = T.optim.AdamW(model.parameters())
        is_narrow = self.dtype != T.float32

        def step() -> None:
            optimizer.zero_grad(set_to_none=True)
            with T.autocast(self.device, dtype=self.dtype, enabled=is_narrow):
                scores = forward(x).flatten(0, -2)
            labels = T.zeros(scores.shape[0], dtype=T.long, device=self.device)
            T.nn.functional.cross_entropy(scores.float(), labels).backward()
            optimizer.step()

        return step
