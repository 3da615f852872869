// The functions behind taeda.library: operators and kernels registered from Python.
#include <set>
#include <string>

#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/text.h"
#include "python/interop/wrap.h"
#include "python/src/dispatch/boxed_values.h"
#include "python/src/dispatch/python_kernel.h"
#include "python/src/tensor/factories.h"
#include "taeda/dispatch/library.h"
#include "taeda/dispatch/tags.h"

namespace taeda::python {

namespace {

using dispatch::DispatchTarget;
using dispatch::Library;
using dispatch::Operator;

constexpr const char* kLibraryName = "taeda.Library";
constexpr const char* kKernelName = "taeda.Kernel";

void need_count(const char* name, Py_ssize_t given, Py_ssize_t wanted) {
  TAEDA_CHECK_TYPE(given == wanted, name, "() takes ", wanted, " arguments, got ", given);
}

// Registrations point to the text of their origin, which therefore lives forever.
const char* kept_text(const std::string& text) {
  static auto* texts = new std::set<std::string>;
  return texts->insert(text).first->c_str();
}

// A library, and the Python kernels that go with it.
struct OpenLibrary {
  Library library;
  std::vector<PythonKernel*> kernels;
};

OpenLibrary& library_of(PyObject* handle) {
  void* library = PyCapsule_GetPointer(handle, kLibraryName);
  if (!library) throw_python_error();
  return *static_cast<OpenLibrary*>(library);
}

PyObject* wrap_operator(Operator& op) { return PyCapsule_New(&op, kOperatorHandleName, nullptr); }

// open(namespace, kind, where)
PyObject* open(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    need_count("open_library", nargs, 3);
    const std::string kind = text_of(argv[1]);
    const Library::Kind as = kind == "DEF"        ? Library::Kind::Definition
                             : kind == "FRAGMENT" ? Library::Kind::Fragment
                                                  : Library::Kind::Implementation;
    const char* where = kept_text(text_of(argv[2]));
    auto library = std::make_unique<OpenLibrary>(
        OpenLibrary{Library(text_of(argv[0]), std::nullopt, where, as), {}});
    PyObject* handle = checked(PyCapsule_New(library.get(), kLibraryName, nullptr));
    library.release();  // stays: a kernel of it may be running when it is closed
    return handle;
  });
}

// close(library): takes back all that was registered through it.
PyObject* close(PyObject*, PyObject* handle) {
  return guarded([&] {
    OpenLibrary& open = library_of(handle);
    open.library.remove();
    for (PythonKernel* kernel : open.kernels) kernel->forget();
    open.kernels.clear();
    return Py_NewRef(Py_None);
  });
}

// define(library, schema, tags): the operator's handle
PyObject* define(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    need_count("define", nargs, 3);
    Operator& op =
        library_of(argv[0]).library.def(text_of(argv[1]), static_cast<uint32_t>(to_int64(argv[2])));
    return wrap_operator(op);
  });
}

bool is_among(const std::string& flags, const char* flag) {
  return flags.find(flag) != std::string::npos;
}

// Kernels of the library itself beside Python callables, by name; by flags:
// operator, keys, defaults, no_alias (KernelOptions), recording (boxed_for_autograd).
dispatch::CppFunction function_of(OpenLibrary& open, PyObject* callable, const std::string& flags) {
  if (PyUnicode_Check(callable)) {
    const std::string name = text_of(callable);
    if (name == "fallthrough") return dispatch::CppFunction::makeFallthrough();
    if (name == "versions") return version_kernel();
    fail(ErrorKind::Value, "no such kernel: ", name);
  }
  TAEDA_CHECK_TYPE(PyCallable_Check(callable), "expected a callable");
  KernelOptions options;
  options.passes_operator = is_among(flags, "operator");
  options.passes_keys = is_among(flags, "keys");
  options.passes_defaults = is_among(flags, "defaults");
  options.forbids_aliases = is_among(flags, "no_alias");
  auto* kernel = new PythonKernel(callable, options);
  open.kernels.push_back(kernel);
  return is_among(flags, "recording") ? kernel->boxed_for_autograd() : kernel->boxed();
}

// impl(library, name, key, callable, flags)
PyObject* impl(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    need_count("impl", nargs, 5);
    OpenLibrary& open = library_of(argv[0]);
    const DispatchTarget target = DispatchTarget::parse(text_of(argv[2]));
    open.library.impl_at(text_of(argv[1]), target, function_of(open, argv[3], text_of(argv[4])));
    return Py_NewRef(Py_None);
  });
}

// fallback(library, key, callable, flags): for every operator without a kernel at the key
PyObject* fallback(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    need_count("fallback", nargs, 4);
    OpenLibrary& open = library_of(argv[0]);
    const DispatchTarget target = DispatchTarget::parse(text_of(argv[1]));
    open.library.fallback_at(target, function_of(open, argv[2], text_of(argv[3])));
    return Py_NewRef(Py_None);
  });
}

// set_batch_rule(handle, callable or None)
PyObject* set_batch_rule(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    need_count("set_batch_rule", nargs, 2);
    set_python_batch_rule(operator_of_handle(argv[0]), argv[1]);
    return Py_NewRef(Py_None);
  });
}

// has_kernel(handle, key): at the first slot the key stands for
PyObject* has_kernel(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    need_count("has_kernel", nargs, 2);
    const DispatchTarget target = DispatchTarget::parse(text_of(argv[1]));
    return wrap(dispatch::has_kernel(operator_of_handle(argv[0]), target.slots().front()));
  });
}

// kernel_at(handle, key): the kernel that runs there now, or None
PyObject* kernel_at(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    need_count("kernel_at", nargs, 2);
    const DispatchTarget target = DispatchTarget::parse(text_of(argv[1]));
    const dispatch::BoxedKernel kernel =
        dispatch::current_kernel(operator_of_handle(argv[0]), target.slots().front());
    if (!kernel.fn) return Py_NewRef(Py_None);
    return PyCapsule_New(new dispatch::BoxedKernel(kernel), kKernelName, [](PyObject* capsule) {
      delete static_cast<dispatch::BoxedKernel*>(PyCapsule_GetPointer(capsule, kKernelName));
    });
  });
}

KeySet key_set(PyObject* bits) {
  const unsigned long long word = PyLong_AsUnsignedLongLong(bits);
  if (word == ~0ULL && PyErr_Occurred()) throw_python_error();
  return KeySet(word);
}

// call_kernel(kernel, handle, key bits, args, kwargs)
PyObject* call_kernel(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    need_count("call_kernel", nargs, 5);
    void* pointer = PyCapsule_GetPointer(argv[0], kKernelName);
    if (!pointer) throw_python_error();
    const auto kernel = *static_cast<dispatch::BoxedKernel*>(pointer);
    const Operator& op = operator_of_handle(argv[1]);
    dispatch::Stack stack = bind_arguments(call_schema(op), argv[3], argv[4]);
    kernel.fn(op, key_set(argv[2]), stack, kernel.context);
    return wrap_results(stack);
  });
}

PyObject* redispatch_with(PyObject* const* argv, Py_ssize_t nargs) {
  need_count("redispatch", nargs, 4);
  Operator& op = operator_of_handle(argv[0]);
  dispatch::Stack stack = bind_arguments(call_schema(op), argv[2], argv[3]);
  op.call_boxed(op, key_set(argv[1]), stack);
  return wrap_results(stack);
}
// redispatch(handle, key bits, args, kwargs): from the outermost key of the set on
PyObject* redispatch(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] { return redispatch_with(argv, nargs); });
}
// The same, with autograd off for whatever the kernel calls.
PyObject* redispatch_below_autograd(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    const BelowAutograd below;
    return redispatch_with(argv, nargs);
  });
}

// exclude_keys(bits): sets the keys that this thread leaves out, returns the previous ones
PyObject* exclude_keys(PyObject*, PyObject* bits) {
  return guarded([&] {
    const KeySet before = std::exchange(local_keys().exclude, key_set(bits));
    return PyLong_FromUnsignedLongLong(before.bits());
  });
}

// include_keys(bits): sets what this thread adds to every call, returns what it was
PyObject* include_keys(PyObject*, PyObject* bits) {
  return guarded([&] {
    const KeySet before = std::exchange(local_keys().include, key_set(bits));
    return PyLong_FromUnsignedLongLong(before.bits());
  });
}

PyObject* key_bits(PyObject*, PyObject* name) {
  return guarded([&] {
    const DispatchTarget target = DispatchTarget::parse(text_of(name));
    KeySet keys(target.key);
    if (target.backend) keys = keys | KeySet(*target.backend);
    return PyLong_FromUnsignedLongLong(keys.bits());
  });
}
PyObject* key_of_device(PyObject*, PyObject* name) {
  return guarded(
      [&] { return wrap(slot_name(slot_of(Key::Dense, Device::parse(text_of(name)).type))); });
}
PyObject* bits_below(PyObject*, PyObject* name) {
  return guarded([&] {
    const DispatchTarget target = DispatchTarget::parse(text_of(name));
    return PyLong_FromUnsignedLongLong(KeySet::below(target.key).bits());
  });
}
PyObject* key_text(PyObject*, PyObject* bits) {
  return guarded([&] { return wrap(to_string(key_set(bits))); });
}

// tags(): [(name, bit), ...]
PyObject* tags(PyObject*, PyObject*) {
  return guarded([&] {
    Ref list(checked(PyList_New(0)));
    for (const dispatch::NamedTag& tag : dispatch::named_tags()) {
      const Ref entry(
          checked(Py_BuildValue("(sk)", tag.name, static_cast<unsigned long>(tag.bit))));
      if (PyList_Append(list.get(), entry.get()) < 0) throw_python_error();
    }
    return list.release();
  });
}
PyObject* operator_tags(PyObject*, PyObject* handle) {
  return guarded([&] { return PyLong_FromUnsignedLong(operator_of_handle(handle).tags); });
}

PyObject* take_errors(PyObject*, PyObject*) {
  return guarded([] { return wrap(dispatch::take_library_errors()); });
}

}  // namespace

PyMethodDef library_table[] = {
    {"open_library", as_function(open), METH_FASTCALL, "open_library(namespace, kind, where)"},
    {"close_library", close, METH_O, "close_library(library)"},
    {"define", as_function(define), METH_FASTCALL, "define(library, schema, tags): a handle."},
    {"impl", as_function(impl), METH_FASTCALL, "impl(library, name, key, callable, flags)"},
    {"fallback", as_function(fallback), METH_FASTCALL, "fallback(library, key, callable, flags)"},
    {"set_batch_rule", as_function(set_batch_rule), METH_FASTCALL, nullptr},
    {"has_kernel", as_function(has_kernel), METH_FASTCALL, "has_kernel(handle, key)"},
    {"kernel_at", as_function(kernel_at), METH_FASTCALL, "kernel_at(handle, key)"},
    {"call_kernel", as_function(call_kernel), METH_FASTCALL, nullptr},
    {"redispatch", as_function(redispatch), METH_FASTCALL, nullptr},
    {"redispatch_below_autograd", as_function(redispatch_below_autograd), METH_FASTCALL, nullptr},
    {"exclude_keys", exclude_keys, METH_O, nullptr},
    {"include_keys", include_keys, METH_O, nullptr},
    {"key_bits", key_bits, METH_O, "key_bits(name): the key set of one dispatch key."},
    {"key_of_device", key_of_device, METH_O, "key_of_device(text): \"cpu\" gives CPU."},
    {"bits_below", bits_below, METH_O, "bits_below(name): every key inside it."},
    {"key_text", key_text, METH_O, nullptr},
    {"tags", tags, METH_NOARGS, "tags(): (name, bit) of every tag."},
    {"operator_tags", operator_tags, METH_O, "operator_tags(handle): bits."},
    {"take_library_errors", take_errors, METH_NOARGS, nullptr},
    {},
};

}  // namespace taeda::python
