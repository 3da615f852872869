// The library's warnings as Python's UserWarning.
#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/src/tensor/factories.h"
#include "taeda/base/log.h"

namespace taeda::python {

namespace {

void warn_user(const std::string& message) {
  const GilHold gil;
  const Ref text(checked(wrap_message(message)));
  // A filter that turns warnings into errors raises here.
  if (PyErr_WarnFormat(PyExc_UserWarning, 1, "%U", text.get()) < 0) throw_python_error();
}

}  // namespace

bool install_warnings() {
  set_warning_handler(&warn_user);
  return true;
}

}  // namespace taeda::python
