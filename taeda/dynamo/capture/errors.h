// How capture leaves an instruction early.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>

namespace taeda::dynamo {

// The instruction is not captured: it is run as it is.
struct Break {
  std::string reason;
};
// A Python exception is set. Exact: type and text are those that the program's objects give, too,
// though stand-ins take part (Note [Doubtful errors]).
struct Raised {
  bool is_exact = false;
};
// A Python exception is set that is no error of the program: what it said of its inputs does not
// hold. The caller gets it.
struct Refused {};
// The region is not compiled at all. Where it could end before an instruction it is captured again
// up to there; where the program is another one now, as a whole.
struct Abandoned {
  static constexpr int64_t kNowhere = 0, kHere = -1, kAsAWhole = -2;
  std::string reason;
  int64_t ends_at = kNowhere;  // the number of an instruction
};

inline PyObject* need(PyObject* object) {
  if (object == nullptr) throw Raised{};
  return object;
}
inline void need(int status) {
  if (status < 0) throw Raised{};
}

}  // namespace taeda::dynamo
