// Attributes of Tensor: shape, dtype, device, gradient, transposes.
#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/autograd/grad_fn_type.h"
#include "python/src/autograd/hooks.h"
#include "python/src/tensor/class_reads.h"
#include "python/src/tensor/tensor_type.h"
#include "taeda/autograd/grad_level.h"
#include "taeda/autograd/variable.h"
#include "taeda/base/log.h"
#include "taeda/ops/functions.h"

namespace taeda::python {

namespace {

// A getter from an expression over the tensor.
template <auto read>
PyObject* get(PyObject* self, void*) {
  return guarded([&] { return wrap(read(tensor_of(self))); });
}
#define TAEDA_GET(expression) get<[]([[maybe_unused]] const Tensor& t) { return expression; }>

PyObject* get_shape(PyObject* self, void*) {
  return guarded([&] {
    const Ref told = sizes_from_class(self);
    return told ? PyObject_CallOneArg(reinterpret_cast<PyObject*>(size_type), told.get())
                : wrap_size(tensor_of(self).sym_sizes());
  });
}

// A getter from an expression over the device, which a class may tell.
template <auto read>
PyObject* get_of_device(PyObject* self, void*) {
  return guarded([&] { return wrap(read(shown_device(self))); });
}
#define TAEDA_GET_OF_DEVICE(expression) get_of_device<[](Device d) { return expression; }>

PyObject* get_layout(PyObject* self, void*) {
  return guarded([&] {
    Ref told = read_from_class(self, ClassRead::Layout, "prim::layout");
    return told ? told.release() : wrap(tensor_of(self).layout());
  });
}
PyObject* get_ndim(PyObject* self, void*) {
  return guarded([&] {
    Ref told = read_from_class(self, ClassRead::Sizes, "dim");
    return told ? told.release() : wrap(tensor_of(self).dim());
  });
}

bool check_not_deleted(PyObject* value, const char* name) {
  if (value) return true;
  PyErr_Format(PyExc_RuntimeError, "can't delete attribute '%s'", name);
  return false;
}

PyObject* get_grad_fn(PyObject* self, void*) {
  return guarded([&] { return wrap_node(autograd::grad_fn(tensor_of(self))); });
}
// `_grad_fn` takes None alone, which cuts the tensor off.
int set_grad_fn(PyObject* self, PyObject* value, void*) {
  if (!check_not_deleted(value, "_grad_fn")) return -1;
  return guarded_int([&] {
    TAEDA_CHECK_TYPE(value == Py_None, "_grad_fn can be only set to None");
    autograd::detach_inplace(tensor_of(self));
    return 0;
  });
}
PyObject* get_grad(PyObject* self, void*) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    const Tensor& grad = autograd::grad(t);
    if (!grad.defined() && t.impl()->requires_grad_flag() && autograd::has_node(t) &&
        !autograd::retains_grad(t))
      warn(
          "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
          "attribute won't be populated during autograd.backward(). If you indeed want the .grad "
          "field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. "
          "If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor "
          "instead. See github.com/pytorch/pytorch/pull/30531 for more informations.");
    return wrap(grad);
  });
}
PyObject* get_grad_dtype(PyObject* self, void*) {
  return guarded([&] {
    const std::optional<DType> dtype = autograd::grad_dtype(tensor_of(self));
    return dtype ? wrap(*dtype) : Py_NewRef(Py_None);
  });
}
int set_grad_dtype(PyObject* self, PyObject* value, void*) {
  if (!check_not_deleted(value, "grad_dtype")) return -1;
  return guarded_int([&] {
    TAEDA_CHECK(value == Py_None || is_dtype(value),
                "grad_dtype must be a torch.dtype or None, but got ", Py_TYPE(value)->tp_name);
    autograd::set_grad_dtype(
        tensor_of(self), value == Py_None ? std::nullopt : std::optional<DType>(to_dtype(value)));
    return 0;
  });
}
PyObject* get_version(PyObject* self, void*) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    TAEDA_CHECK(t.impl()->has_version_counter(), "Inference tensors do not track version counter.");
    return wrap(static_cast<int64_t>(t.version()));
  });
}
int set_grad(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    if (!value || value == Py_None) {
      autograd::set_grad(tensor_of(self), Tensor());
      return 0;
    }
    TAEDA_CHECK_TYPE(is_tensor(value),
                     "assigned grad expected to be a Tensor or None but got grad of type ",
                     Py_TYPE(value)->tp_name);
    TAEDA_CHECK(self != value, "can't assign Variable as its own grad");
    autograd::set_grad(tensor_of(self), tensor_of(value));
    return 0;
  });
}

int set_requires_grad(PyObject* self, PyObject* value, void*) {
  if (!check_not_deleted(value, "requires_grad")) return -1;
  return guarded_int([&] {
    TAEDA_CHECK(PyBool_Check(value), "requires_grad must be a bool");
    autograd::check_outside_levels("requires_grad_");
    const Tensor& t = tensor_of(self);
    TAEDA_CHECK(!autograd::has_node(t),
                "you can only change requires_grad flags of leaf variables.",
                value == Py_True ? ""
                                 : " If you want to use a computed variable in a subgraph that "
                                   "doesn't require differentiation use var_no_grad = "
                                   "var.detach().");
    autograd::set_requires_grad(t, value == Py_True);
    return 0;
  });
}

// The values without history and with a version counter of their own.
PyObject* get_data(PyObject* self, void*) {
  return guarded([&] {
    Tensor t = autograd::detached(tensor_of(self));
    t.impl()->own_version_counter();
    return wrap(t);
  });
}
int set_data(PyObject* self, PyObject* value, void*) {
  if (!check_not_deleted(value, "data")) return -1;
  return guarded_int([&] {
    autograd::set_data(tensor_of(self), expect_tensor(value, "Variable data"));
    return 0;
  });
}

Tensor matrix_transposed(const Tensor& t, const char* name) {
  TAEDA_CHECK(t.dim() >= 2, "tensor.", name,
              " is only supported on matrices or batches of matrices. Got ", t.dim(), "-D tensor.");
  return taeda::transpose(t, -2, -1);
}
Tensor adjoint(const Tensor& t, const char* name) {
  Tensor r = t.dim() == 0 ? t : matrix_transposed(t, name);
  return t.is_complex() ? taeda::conj(r) : r;
}
Tensor hermitian(const Tensor& t) {
  TAEDA_CHECK(t.dim() == 0 || t.dim() == 2,
              "tensor.H is only supported on matrices (2-D tensors). Got ", t.dim(), "-D tensor.",
              t.dim() > 2 ? " For batches of matrices, consider using tensor.mH" : "");
  return adjoint(t, "H");
}

int set_real(PyObject* self, PyObject* value, void*) {
  if (!check_not_deleted(value, "real")) return -1;
  return guarded_int([&] {
    Tensor part = taeda::real(tensor_of(self));
    if (is_tensor(value))
      taeda::copy_(part, tensor_of(value));
    else
      taeda::fill_(part, to_scalar(value));
    return 0;
  });
}
int set_imag(PyObject* self, PyObject* value, void*) {
  if (!check_not_deleted(value, "imag")) return -1;
  return guarded_int([&] {
    Tensor part = taeda::imag(tensor_of(self));
    if (is_tensor(value))
      taeda::copy_(part, tensor_of(value));
    else
      taeda::fill_(part, to_scalar(value));
    return 0;
  });
}

Tensor base_of(const Tensor& t) {
  TensorImpl* base = t.impl()->view_base();
  return base ? Tensor(IntrusivePtr<TensorImpl>::share(base)) : Tensor();
}

PyObject* get_name(PyObject* self, void*) {
  const auto* meta = autograd::meta_or_null(tensor_of(self).impl());
  return meta && !meta->name.empty() ? wrap(meta->name) : Py_NewRef(Py_None);
}

PyObject* get_backward_hooks(PyObject* self, void*) {
  return guarded([&] { return wrap_tensor_hooks(tensor_of(self)); });
}
int set_backward_hooks(PyObject*, PyObject* value, void*) {
  if (!check_not_deleted(value, "_backward_hooks")) return -1;
  set_error(PyExc_RuntimeError, "_backward_hooks cannot be assigned; use register_hook");
  return -1;
}
}  // namespace

PyGetSetDef tensor_properties[] = {
    {"shape", get_shape, nullptr, "The sizes of the dimensions, a torch.Size.", nullptr},
    {"dtype", TAEDA_GET(t.dtype()), nullptr, "The type of the elements.", nullptr},
    {"device", TAEDA_GET_OF_DEVICE(d), nullptr, "Where the elements lie.", nullptr},
    {"layout", get_layout, nullptr, "How the elements are stored: torch.strided for dense tensors.",
     nullptr},
    {"ndim", get_ndim, nullptr, "The number of dimensions.", nullptr},
    {"itemsize", TAEDA_GET(t.element_size()), nullptr, "The size of an element in bytes.", nullptr},
    {"nbytes",
     TAEDA_GET(t.impl()->sym_numel() * SymInt(static_cast<int64_t>(item_size(t.dtype())))), nullptr,
     "The size of all elements in bytes.", nullptr},
    {"grad", get_grad, set_grad, "The gradient that backward has added up, or None.", nullptr},
    {"_grad", get_grad, set_grad, nullptr, nullptr},
    {"_backward_hooks", get_backward_hooks, set_backward_hooks, nullptr, nullptr},
    {"grad_fn", get_grad_fn, nullptr,
     "The backward node that the tensor comes from; None for a leaf.", nullptr},
    {"_grad_fn", get_grad_fn, set_grad_fn, nullptr, nullptr},
    {"grad_dtype", get_grad_dtype, set_grad_dtype,
     "The dtype of the gradient of a leaf: the tensor's own unless set, None for any.", nullptr},
    {"is_leaf", TAEDA_GET(autograd::is_leaf(t)), nullptr,
     "Whether no recorded operation made the tensor.", nullptr},
    {"requires_grad", TAEDA_GET(autograd::requires_grad(t)), set_requires_grad,
     "Whether operations on the tensor are recorded for backward.", nullptr},
    {"retains_grad", TAEDA_GET(autograd::retains_grad(t)), nullptr,
     "Whether backward keeps the gradient though the tensor is not a leaf.", nullptr},
    {"output_nr", TAEDA_GET(static_cast<int64_t>(autograd::output_nr(t))), nullptr,
     "Which output of `grad_fn` the tensor is.", nullptr},
    {"data", get_data, set_data,
     "The values without their history; assigning puts other values in place.", nullptr},
    {"_version", get_version, nullptr, "How often the memory was written in place.", nullptr},
    {"_base", TAEDA_GET(base_of(t)), nullptr, "The tensor that this one is a view of, or None.",
     nullptr},
    {"name", get_name, nullptr, "The name of the tensor, if it has one.", nullptr},
    {"T", TAEDA_GET(taeda::numpy_T(t)), nullptr, "The dimensions in reverse order, as a view.",
     nullptr},
    {"mT", TAEDA_GET(taeda::mT(t)), nullptr, "The last two dimensions exchanged, as a view.",
     nullptr},
    {"H", TAEDA_GET(hermitian(t)), nullptr, "The conjugate transpose of a matrix.", nullptr},
    {"mH", TAEDA_GET(adjoint(t, "mH")), nullptr,
     "The conjugate transpose of the last two dimensions.", nullptr},
    {"real", TAEDA_GET(t.is_complex() ? taeda::real(t) : t), set_real, "The real part, as a view.",
     nullptr},
    {"imag", TAEDA_GET(taeda::imag(t)), set_imag,
     "The imaginary part of a complex tensor, as a view.", nullptr},
    {"is_cpu", TAEDA_GET_OF_DEVICE(d.type == DeviceType::CPU), nullptr,
     "Whether the tensor is on the CPU.", nullptr},
    {"is_cuda", TAEDA_GET_OF_DEVICE(d.type == DeviceType::CUDA), nullptr,
     "Whether the tensor is on a CUDA device.", nullptr},
    {"is_meta", TAEDA_GET_OF_DEVICE(d.type == DeviceType::Meta), nullptr,
     "Whether the tensor has a shape and no data.", nullptr},
    {"is_sparse", TAEDA_GET(t.layout() == Layout::Sparse), nullptr,
     "Whether the layout is sparse COO.", nullptr},
    {"is_sparse_csr", TAEDA_GET(t.layout() == Layout::SparseCsr), nullptr,
     "Whether the layout is sparse CSR.", nullptr},
    {"is_mkldnn", TAEDA_GET(false), nullptr, "Whether the layout is oneDNN's: never.", nullptr},
    {"is_mps", TAEDA_GET(false), nullptr, "Whether the tensor is on an MPS device: never.",
     nullptr},
    {"is_xpu", TAEDA_GET(false), nullptr, "Whether the tensor is on an XPU device: never.",
     nullptr},
    {"is_quantized", TAEDA_GET(false), nullptr, "Whether the dtype is a quantized one: never.",
     nullptr},
    {"is_nested", TAEDA_GET(t.layout() == Layout::Jagged), nullptr,
     "Whether the tensor is a nested one (torch.jagged).", nullptr},
    {},
};

}  // namespace taeda::python
