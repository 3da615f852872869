"""What this build is: its version, and the libraries of devices that it was built with (none)."""

import taeda

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

__version__ = str(taeda.__version__)
debug = False
git_version = "Unknown"
cuda = hip = rocm = xpu = None
