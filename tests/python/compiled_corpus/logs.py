"""Programs that log: below the level, above it, in handlers, through adapters, by the root."""

import logging

from compiled_case import case
from under_test import t

t.manual_seed(0)
X = t.randn(4, 3)


class Printing(logging.Handler):
    """Prints, so that what was logged is compared."""

    def emit(self, record):
        print(record.levelname, record.funcName, record.getMessage())


def make_logger(level):
    logger = logging.Logger("of programs", level)
    logger.addHandler(Printing())
    return logger


QUIET = make_logger(logging.ERROR)
LOUD = make_logger(logging.INFO)
CHILD = logging.getLogger("of programs.child")
logging.getLogger("of programs").setLevel(logging.ERROR)


@case(X)
def below_the_level(x):
    QUIET.info("shape %s", x.shape)
    y = x + 1
    QUIET.warning("and %s", 2)
    QUIET.log(logging.DEBUG, "never")
    return y * 2


@case(X, breaks=1)
def above_the_level(x):
    y = x + 1
    LOUD.info("shape %s", tuple(y.shape))
    return y * 2


@case(X, breaks=2)
def twice(x):
    LOUD.info("shape %s", tuple(x.shape))
    y = x @ x.t()
    LOUD.warning("then %d", y.dim())
    LOUD.debug("never")
    return y * 2


@case(X, breaks=1)
def by_level(x):
    LOUD.log(logging.WARNING, "a %s", "b", extra={"c": 1})
    return x * 2


@case(X)
def asked_first(x):
    if QUIET.isEnabledFor(logging.INFO):
        QUIET.info("sum %s", x.sum().item())
    return x * 2, LOUD.isEnabledFor(logging.DEBUG), LOUD.getEffectiveLevel()


@case(X, breaks=1)
def by_a_function_that_is_called(x):
    def told(v, name):
        LOUD.info("%s has %d rows", name, v.size(0))
        return v + 1

    return told(x * 2, "x") * 3


@case(X)
def by_an_adapter_below_the_level(x):
    adapter = logging.LoggerAdapter(QUIET, {"rank": 0})
    adapter.info("never")
    return x * 2


@case(X)
def by_a_child_of_a_quiet_parent(x):
    CHILD.debug("never")
    return x * 2
