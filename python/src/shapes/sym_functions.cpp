// Functions of symbolic numbers, and where the user's program is when one is guarded.
#include <cstring>
#include <string>

#include <frameobject.h>

#include "python/interop/errors.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/shapes/sym_types.h"
#include "taeda/fx/shapes/number_ops.h"

namespace taeda::python {

using fx::apply_number_op;
using fx::as_float;
using fx::as_integer;
using fx::as_number;
using fx::Expr;
using fx::ExprOp;
using fx::ExprPool;
using fx::NumberOp;

namespace {

// The folder of the package with a slash behind it; empty where it cannot be told.
const std::string& package_folder() {
  static const std::string folder = [] {
    const Ref package(PyImport_ImportModule("taeda"));
    const Ref file(package ? PyObject_GetAttrString(package.get(), "__file__") : nullptr);
    const char* path = file ? PyUnicode_AsUTF8(file.get()) : nullptr;
    if (!path) PyErr_Clear();
    const std::string text = path ? path : "";
    return text.substr(0, text.rfind('/') + 1);
  }();
  return folder;
}

bool is_inside_package(std::string_view file) {
  const std::string& folder = package_folder();
  return (!folder.empty() && file.starts_with(folder)) || file.starts_with("<frozen");
}

// The innermost frame outside of this package: file:line in function.
std::string user_location() {
  if (!PyGILState_Check()) return "";
  Ref frame(Py_XNewRef(reinterpret_cast<PyObject*>(PyEval_GetFrame())));
  while (frame) {
    auto* f = reinterpret_cast<PyFrameObject*>(frame.get());
    const Ref code(reinterpret_cast<PyObject*>(PyFrame_GetCode(f)));
    auto* c = reinterpret_cast<PyCodeObject*>(code.get());
    const char* file = PyUnicode_AsUTF8(c->co_filename);
    const char* function = PyUnicode_AsUTF8(c->co_name);
    if (file && function && !is_inside_package(file))
      return str(file, ":", PyFrame_GetLineNumber(f), " in ", function);
    frame = Ref(reinterpret_cast<PyObject*>(PyFrame_GetBack(f)));
  }
  return "";
}

const Expr* operation(ExprPool& pool, std::string_view name, Span<const Expr*> args) {
  if (args.size() == 2) {
    if (name == "min") return apply_number_op(pool, NumberOp::Min, args[0], args[1]);
    if (name == "max") return apply_number_op(pool, NumberOp::Max, args[0], args[1]);
  }
  if (args.size() == 3 && name == "where") {
    const bool is_float = args[1]->kind == SymKind::Float || args[2]->kind == SymKind::Float;
    if (is_float) return pool.where(args[0], as_float(pool, args[1]), as_float(pool, args[2]));
    if (args[1]->kind == args[2]->kind) return pool.where(args[0], args[1], args[2]);
    return pool.where(args[0], as_number(pool, args[1]), as_number(pool, args[2]));
  }
  if (args.size() == 1) {
    if (name == "not") return pool.logical_not(args[0]);
    if (name == "float") return as_float(pool, args[0]);
    if (name == "int") return as_integer(pool, ExprOp::TruncToInt, args[0]);
    if (name == "sqrt") return pool.make(ExprOp::Sqrt, {as_float(pool, args[0])});
  }
  std::vector<const Expr*> floats;
  for (const Expr* a : args) floats.push_back(as_float(pool, a));
  if (name == "pow" && args.size() == 2) return pool.make(ExprOp::FloatPow, floats);
  const Span<symbolic::MathFunction> functions = symbolic::math_functions();
  for (size_t i = 0; i < functions.size(); ++i)
    if (name == functions[i].name && args.size() == functions[i].num_args)
      return pool.make(symbolic::math_op(i), floats);
  fail(ErrorKind::Type, "no symbolic operation ", name, " of ", args.size(), " operands");
}

PyObject* symbolic_meta(PyObject*, PyObject* args) {
  PyObject *sizes, *strides, *dtype, *offset = nullptr;
  if (!PyArg_ParseTuple(args, "OOO|O:_symbolic_meta", &sizes, &strides, &dtype, &offset))
    return nullptr;
  return guarded([&] {
    const auto read = [](PyObject* list) {
      const Ref items(checked(PySequence_Fast(list, "expected a sequence")));
      SymIntVec out;
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
        out.push_back(to_symint(PySequence_Fast_GET_ITEM(items.get(), i)));
      return out;
    };
    const SymIntVec n = read(sizes), s = read(strides);
    TAEDA_CHECK_VALUE(n.size() == s.size(), "sizes and strides differ in length");
    Tensor t = make_tensor({0}, to_dtype(dtype), DeviceType::Meta);
    t.impl()->set_sym_geometry(n, s, offset ? to_symint(offset) : SymInt(0));
    return wrap(t);
  });
}

PyMethodDef sym_functions[] = {{"_sym_operation", sym_operation, METH_VARARGS, nullptr},
                               {"_symbolic_meta", symbolic_meta, METH_VARARGS, nullptr},
                               {}};

}  // namespace

PyObject* sym_operation(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const Py_ssize_t n = PyTuple_GET_SIZE(args);
    TAEDA_CHECK_TYPE(n >= 2, "expected the name of an operation and its operands");
    const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(args, 0));
    if (!name) throw_python_error();
    const fx::SymExprNode* node = nullptr;
    for (Py_ssize_t i = 1; i < n && !node; ++i)
      if (PyObject* o = PyTuple_GET_ITEM(args, i); is_symbolic(o))
        node = fx::SymExprNode::from(sym_node_of(o).get());
    TAEDA_CHECK_TYPE(node, "none of the operands of ", name, " is symbolic");
    fx::ExprArgs operands;
    for (Py_ssize_t i = 1; i < n; ++i) {
      operands.push_back(to_expr(node->env(), PyTuple_GET_ITEM(args, i)));
      TAEDA_CHECK_TYPE(operands.back(), "operand ", static_cast<int64_t>(i), " of ", name,
                       " is no number: ", Py_TYPE(PyTuple_GET_ITEM(args, i))->tp_name);
    }
    const bool is_to_int = n == 2 && std::strcmp(name, "int") == 0;
    try {
      const Expr* made = operation(node->env().pool(), name, operands);
      return wrap_number(node->env_ptr(), fx::within_words(node->env(), made));
    } catch (const Error& error) {
      if (!is_to_int || error.kind() != ErrorKind::Overflow) throw;
    }
    // A number of more than 64 bits: of the float as it is in this run.
    const Ref plain(checked(PyNumber_Float(PyTuple_GET_ITEM(args, 1))));
    return checked(PyNumber_Long(plain.get()));
  });
}

// Functions of math that symbolic numbers have, by name.
static Ref math_names() {
  const Span<symbolic::MathFunction> all = symbolic::math_functions();
  Ref names(PyTuple_New(static_cast<Py_ssize_t>(all.size())));
  for (size_t i = 0; names && i < all.size(); ++i)
    PyTuple_SET_ITEM(names.get(), i, PyUnicode_InternFromString(all[i].name));
  return names;
}

bool init_sym_types(PyObject* module, PyObject* fx_module) {
  fx::ShapeEnv::set_location_hook(user_location);
  const Ref names = math_names();
  return names && init_symbolic_errors(fx_module) && init_sym_number_types(module) &&
         init_sym_node_types(fx_module) && init_shape_env_type(fx_module) &&
         PyModule_AddFunctions(fx_module, sym_functions) == 0 &&
         PyModule_AddObjectRef(fx_module, "_math_functions", names.get()) == 0;
}

}  // namespace taeda::python
