// The switches of attention's forms, one pair of functions per form.
#include "python/src/attention_functions.h"

#include "python/interop/errors.h"
#include "python/interop/wrap.h"
#include "taeda/ops/attention/forms.h"

namespace taeda::python {

namespace {

using attention::Form;

template <Form form>
PyObject* is_enabled(PyObject*, PyObject*) {
  return wrap(attention::is_enabled(form));
}

template <Form form>
PyObject* set_enabled(PyObject*, PyObject* o) {
  return guarded([&] {
    TAEDA_CHECK(PyBool_Check(o), "set_sdp_use_", attention::name_of(form),
                " expects a bool, but got ", Py_TYPE(o)->tp_name);
    attention::set_enabled(form, o == Py_True);
    return Py_NewRef(Py_None);
  });
}

}  // namespace

PyMethodDef attention_table[] = {
    {"_get_math_sdp_enabled", is_enabled<Form::Composed>, METH_NOARGS, nullptr},
    {"_set_sdp_use_math", set_enabled<Form::Composed>, METH_O, nullptr},
    {"_get_flash_sdp_enabled", is_enabled<Form::OnePass>, METH_NOARGS, nullptr},
    {"_set_sdp_use_flash", set_enabled<Form::OnePass>, METH_O, nullptr},
    {"_get_mem_efficient_sdp_enabled", is_enabled<Form::Efficient>, METH_NOARGS, nullptr},
    {"_set_sdp_use_mem_efficient", set_enabled<Form::Efficient>, METH_O, nullptr},
    {"_get_cudnn_sdp_enabled", is_enabled<Form::Cudnn>, METH_NOARGS, nullptr},
    {"_set_sdp_use_cudnn", set_enabled<Form::Cudnn>, METH_O, nullptr},
    {"_get_overrideable_sdp_enabled", is_enabled<Form::Overrideable>, METH_NOARGS, nullptr},
    {"_set_sdp_use_overrideable", set_enabled<Form::Overrideable>, METH_O, nullptr},
    {}};

}  // namespace taeda::python
