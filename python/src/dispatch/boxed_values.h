// Boxed arguments and results as Python objects, by an operator's schema.
//
// All of it needs the GIL.
#pragma once

#include "python/interop/python.h"

#include <string>
#include <vector>

#include "taeda/dispatch/call_form.h"
#include "taeda/dispatch/dispatcher.h"

namespace taeda::python {

// The parts of a schema that calls and messages need.
struct CallSchema : dispatch::CallForm {
  std::string qualified_name;  // "aten::add"
  std::string declaration;     // "aten::add.Tensor(Tensor self, ...) -> Tensor"
};
// Kept for the life of the process.
const CallSchema& call_schema(const dispatch::Operator& op);

// A type as PyTorch names it to Python: "List[int]", "Optional[number]".
std::string shown_type(const dispatch::TypeRef& type);

// Operators are capsules of this name in Python.
inline constexpr const char* kOperatorHandleName = "taeda.Operator";
dispatch::Operator& operator_of_handle(PyObject* handle);

// A new reference; lists become Python lists. Throws the pending Python error.
PyObject* wrap_value(const dispatch::Value& v);

// Whether a Python number may stand for a tensor argument.
enum class Numbers : uint8_t { AsTensors, Apart };
// Python arguments to a stack, defaults filled in; throws RuntimeError with PyTorch's messages.
// `kwargs` may be null.
dispatch::Stack bind_arguments(const CallSchema& schema, PyObject* args, PyObject* kwargs,
                               Numbers numbers = Numbers::AsTensors);
// A stack of arguments as (tuple, dict), without trailing positional and keyword-only arguments
// that equal their defaults. Wrapped numbers are numbers again.
std::pair<Ref, Ref> wrap_arguments(const CallSchema& schema, const dispatch::Stack& stack);
// The same with every argument.
std::pair<Ref, Ref> wrap_all_arguments(const CallSchema& schema, const dispatch::Stack& stack);

// None, one object, or a tuple.
PyObject* wrap_results(const dispatch::Stack& stack);
// The reverse, checked against the schema's results; `who` returned them.
dispatch::Stack read_results(const CallSchema& schema, PyObject* result,
                             const char* who = "__torch_dispatch__");

}  // namespace taeda::python
