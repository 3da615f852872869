// Errors of operators whose texts may name sizes, which are symbols while a program is captured.
//
// The program gets its own text: the error is a break. In a program that is captured as a whole it
// goes on its way, because the program then runs as it is and raises by itself; there a handler of
// the error is the break.
#include <algorithm>

#include "taeda/dynamo/capture/capture.h"
#include "taeda/dynamo/evaluator/handlers.h"

namespace taeda::dynamo {

// Errors of other classes speak of names and classes.
bool Capture::names_sizes(PyObject* exception, const std::vector<Owned>& operands) const {
  const bool is_known = PyErr_GivenExceptionMatches(exception, PyExc_RuntimeError) ||
                        PyErr_GivenExceptionMatches(exception, PyExc_ValueError) ||
                        PyErr_GivenExceptionMatches(exception, PyExc_IndexError);
  return is_known && std::any_of(operands.begin(), operands.end(), [&](const Owned& o) {
           return o && recorder_.is_tensor_value(o.get()) && recorder_.has_symbolic_sizes(o.get());
         });
}

// `except:` takes what it gets; `finally` and `with` let it go on.
Flow Capture::push_exc_info(State& state, int argument) {
  static const int drop = opcode_number("POP_TOP");
  if (state.next->opcode == drop && errors_with_sizes_.contains(state.peek(1)))
    throw Break{kNamesSizes};
  return run::PUSH_EXC_INFO_(state, argument);
}

Flow Capture::check_exc_match(State& state, int argument) {
  PyObject* raised = state.peek(2);
  if (errors_with_sizes_.contains(raised) && PyErr_GivenExceptionMatches(raised, state.peek(1)))
    throw Break{kNamesSizes};
  return run::CHECK_EXC_MATCH_(state, argument);
}

}  // namespace taeda::dynamo
