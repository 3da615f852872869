"""Special functions with PyTorch's names: those of their own, and other names of functions at the
top level."""

from taeda._C import (  # noqa: F401
    digamma,
    erf,
    erfc,
    erfinv,
    exp2,
    expm1,
    i0,
    log1p,
    log_softmax,
    logit,
    logsumexp,
    polygamma,
    round,
    sinc,
    softmax,
    xlogy,
)
from taeda._C import digamma as psi  # noqa: F401
from taeda._C import igamma as gammainc  # noqa: F401
from taeda._C import igammac as gammaincc  # noqa: F401
from taeda._C import lgamma as gammaln  # noqa: F401
from taeda._C import mvlgamma as multigammaln  # noqa: F401
from taeda._C import sigmoid as expit  # noqa: F401
from taeda._C._special import *  # noqa: F403

__all__ = [name for name in dir() if not name.startswith("_")]
