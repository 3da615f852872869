// taeda._frames on a CPython whose frames nobody has looked at yet: the import says so.
#include <Python.h>

PyMODINIT_FUNC PyInit__frames() {
  PyErr_Format(PyExc_ImportError,
               "taeda._frames: Taeda's frames know CPython 3.11, 3.12 and 3.13; this is %d.%d "
               "(docs/frames.md says what a port takes)",
               PY_MAJOR_VERSION, PY_MINOR_VERSION);
  return nullptr;
}
