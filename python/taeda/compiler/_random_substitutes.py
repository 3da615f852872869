"""What captures enter in place of functions of the random state: operators that a graph holds."""

import operator

import taeda
import taeda.library

__all__ = ["SUBSTITUTES"]

_library = taeda.library.Library("taeda", "FRAGMENT")
_DRAWS = (taeda.Tag.nondeterministic_seeded,)
_library.define("get_rng_state() -> Tensor", tags=_DRAWS)
_library.define("set_rng_state(Tensor state) -> ()", tags=_DRAWS)
_library.define("manual_seed(int seed) -> ()", tags=_DRAWS)
_library.impl("get_rng_state", taeda.get_rng_state, "CompositeExplicitAutograd")
_library.impl("set_rng_state", taeda.set_rng_state, "CompositeExplicitAutograd")


@taeda.library.impl(_library, "manual_seed", "CompositeExplicitAutograd")
def _seed(seed):
    taeda.manual_seed(seed)


@taeda.library.register_fake("taeda::get_rng_state", lib=_library)
def _state_without_values():
    return taeda.empty(taeda.get_rng_state().numel(), dtype=taeda.uint8)


@taeda.library.register_fake("taeda::manual_seed", lib=_library)
@taeda.library.register_fake("taeda::set_rng_state", lib=_library)
def _nothing(state):
    return None


def _get_rng_state():
    return taeda.ops.taeda.get_rng_state()


def _set_rng_state(new_state):
    taeda.ops.taeda.set_rng_state(new_state)


def _manual_seed(seed):
    taeda.ops.taeda.manual_seed(operator.index(seed))
    return taeda.default_generator


SUBSTITUTES = {
    taeda.get_rng_state: _get_rng_state,
    taeda.set_rng_state: _set_rng_state,
    taeda.manual_seed: _manual_seed,
}
