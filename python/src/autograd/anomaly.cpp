// Anomaly mode in Python: the stack of the forward call, kept with the node and told when it fails.
#include <string>
#include <vector>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/src/autograd/grad_fn_type.h"
#include "python/src/tensor/factories.h"
#include "taeda/autograd/anomaly.h"

namespace taeda::python {

namespace {

using autograd::Node;

constexpr const char* kStackKey = "traceback_";

void remember(Node& node) {
  const GilHold gil;
  Ref traceback(checked(PyImport_ImportModule("traceback")));
  Ref stack(checked(PyObject_CallMethod(traceback.get(), "format_stack", nullptr)));
  Ref metadata(node_metadata(node));
  if (PyDict_SetItemString(metadata.get(), kStackKey, stack.get()) < 0) throw_python_error();
}

// The lines of the forward call that made the node; empty if nobody noted them.
std::string stack_of(Node& node) {
  Ref metadata(node_metadata(node));
  PyObject* stack = PyDict_GetItemString(metadata.get(), kStackKey);
  if (!stack) return {};
  Ref none(checked(PyUnicode_FromString("")));
  Ref joined(checked(PyUnicode_Join(none.get(), stack)));
  const char* text = PyUnicode_AsUTF8(joined.get());
  if (!text) throw_python_error();
  return text;
}

// A filter that makes errors of warnings must not hide the error that is being reported: the
// warning is printed then.
void tell(const std::string& message) {
  const GilHold gil;
  if (PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 1) < 0) PyErr_PrintEx(0);
}

void report(Node& node) {
  std::string first;
  std::vector<std::string> parents;
  {
    const GilHold gil;
    first = stack_of(node);
    for (Node* p = node.ensure_hooks()->parent.get(); p; p = p->ensure_hooks()->parent.get()) {
      const std::string stack = stack_of(*p);
      parents.push_back(
          stack.empty()
              ? str("\n\nPrevious calculation was induced by ", p->name(),
                    ". No forward pass information available.")
              : str("\n\nPrevious calculation was induced by ", p->name(),
                    ". Traceback of forward call that induced the previous calculation:\n", stack));
    }
  }
  tell(first.empty() ? str("Error detected in ", node.name(),
                           ". No forward pass information available. Enable detect anomaly during "
                           "forward pass for more information.")
                     : str("Error detected in ", node.name(),
                           ". Traceback of forward call that caused the error:\n", first));
  for (const std::string& message : parents) tell(message);
}

}  // namespace

bool install_anomaly_hooks() {
  autograd::set_anomaly_hooks({remember, report});
  return true;
}

}  // namespace taeda::python
