// Which Python objects a parameter accepts, and the errors for those it does not.
#pragma once

#include "python/src/args/args.h"

namespace taeda::python {

// Whether the object fits the parameter; converts nothing. Lists are judged by their first element.
bool accepts(const Param& param, PyObject* o);
// Whether a keyword names the parameter; `name` is what the caller wrote.
bool is_name_of(const Param& param, std::string_view name);
// "input" for "self".
const char* shown_name(const Param& param);
const char* shown_type(ParamType type);
// A short class name for messages: Tensor, str, numpy.ndarray.
std::string shown_class(PyObject* o);
std::string_view keyword(PyObject* kwnames, Py_ssize_t i);

// One call as the caller made it.
struct Call {
  const char* function;
  PyObject* self;
  PyObject* const* args;
  Py_ssize_t nargs;
  PyObject* kwnames;
  Py_ssize_t num_keywords() const { return kwnames ? PyTuple_GET_SIZE(kwnames) : 0; }
};
// Sets the TypeError for a call that fits no signature.
// Tells of an older form, once per process; false where that became an error.
bool warn_deprecated(const Call& call, const Signature* signatures, int chosen);
void set_no_match_error(const Call& call, const Signature* signatures, int count);

}  // namespace taeda::python
