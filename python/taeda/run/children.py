"""The environment in which child processes of a program answer `import torch` as it does."""

import os
import sys

STARTUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")


def prepare(environment=os.environ):
    """Lets Python processes that are started with `environment` answer `import torch`."""
    environment["TAEDA_RUN"] = sys.implementation.cache_tag
    environment.setdefault("TAEDA_RANDOM_ENGINE", "mt19937")
    folders = environment.get("PYTHONPATH", "").split(os.pathsep)
    if STARTUP not in folders:
        environment["PYTHONPATH"] = os.pathsep.join([STARTUP, *filter(None, folders)])
