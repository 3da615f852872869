// How capture leaves an instruction early.
#pragma once

#include <Python.h>

#include <string>

namespace taeda::dynamo {

// The instruction is not captured: it is run as it is.
struct Break {
  std::string reason;
};
// A Python exception is set.
struct Raised {};
// The region is not compiled at all.
struct Abandoned {
  std::string reason;
};

inline PyObject* need(PyObject* object) {
  if (object == nullptr) throw Raised{};
  return object;
}
inline void need(int status) {
  if (status < 0) throw Raised{};
}

}  // namespace taeda::dynamo
