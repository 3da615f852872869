"""Statements of C++ to measure: compiled once each, and run without the interpreter's lock."""

import hashlib
import textwrap

import taeda

_SOURCE = """
#include <chrono>
{global_setup}

double timeit(int64_t count) {{
  pybind11::gil_scoped_release no_gil;
  {setup}
  {{
    {stmt}
  }}
  const auto start = std::chrono::steady_clock::now();
  for (int64_t run = 0; run < count; ++run) {{
    {stmt}
  }}
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}}
"""


class CppStatement:
    """What timeit.Timer is to a statement of Python; `setup` runs before each measurement."""

    def __init__(self, stmt, setup, global_setup, globals):
        if taeda.accelerator.is_available():
            raise NotImplementedError("statements of C++ are measured on the CPU alone")
        if globals:
            raise ValueError("C++ timing does not support globals.")
        parts = {"stmt": stmt, "setup": setup, "global_setup": global_setup}
        self._source = _SOURCE.format(**{name: textwrap.dedent(p) for name, p in parts.items()})
        self._module = None

    def timeit(self, number):
        if self._module is None:
            from taeda.utils.cpp_extension import load_inline

            name = f"timer_cpp_{hashlib.sha256(self._source.encode()).hexdigest()[:16]}"
            self._module = load_inline(name, self._source, functions="timeit")
        return self._module.timeit(number)
