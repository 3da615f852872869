// The call of nn.Module: `forward` at once where no hook and no override has a say in it.
#include "python/src/module_call.h"

#include <frameobject.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "python/interop/errors.h"
#include "taeda/autograd/anomaly.h"
#include "taeda/dispatch/modes.h"

namespace taeda::python {

namespace {

PyObject* interned(const char* text) {
  PyObject* const name = PyUnicode_InternFromString(text);
  if (!name) throw_python_error();
  return name;
}

// What calls look for. Made once, with the class, and kept as long as the process.
struct ModuleClass {
  PyObject* const call;               // the method `__call__`
  PyObject* const call_impl;          // as Module defines it
  PyObject* const wrapped_call_impl;  // the call with everything that may be part of one
  PyObject* const getattr;            // Module's way to its parameters
  PyObject* const shared_tables;      // the dictionary that holds the hooks of all modules
  PyObject* const forward = interned("forward");
  PyObject* const getattr_name = interned("__getattr__");
  PyObject* const getattribute = interned("__getattribute__");
  PyObject* const call_name = interned("__call__");
  PyObject* const call_impl_name = interned("_call_impl");
  PyObject* const compiled = interned("_compiled_call_impl");
  PyObject* const parameters = interned("_parameters");
  PyObject* const own_hooks[4] = {interned("_forward_hooks"), interned("_forward_pre_hooks"),
                                  interned("_backward_hooks"), interned("_backward_pre_hooks")};
  PyObject* const shared_hooks[4] = {
      interned("_global_forward_hooks"), interned("_global_forward_pre_hooks"),
      interned("_global_backward_hooks"), interned("_global_backward_pre_hooks")};
  PyObject* shared[4] = {};  // what the four names stand for; see read_shared_hooks
};
ModuleClass* module_class = nullptr;

bool is_empty_table(PyObject* table) {
  return table && PyDict_Check(table) && PyDict_GET_SIZE(table) == 0;
}

// Note [Forward as a call of a function]: the forward of many layers is one call,
// `home.name(input, self.member, ..., key=self.member)`. Those say so (_member_call), and a call
// of such a module reads the members and calls the function without running the Python code. The
// code runs all the same where it can make a difference: another forward, or another code in it;
// a class that has one of the names, or finds attributes in a way of its own; a member that is
// neither an attribute of the instance nor a parameter; somebody who looks at frames.
struct MemberCall {
  PyObject* code;  // of the function that says so
  PyObject* home;  // the dictionary in which the callee is looked up at each call
  PyObject* name;
  std::vector<PyObject*> members{};  // interned names
  PyObject* kwnames = nullptr;       // of the last members, null if all go by position
  PyObject* globals = nullptr;       // of that function
  PyCodeObject* line = nullptr;      // stands for it in tracebacks
};
constexpr size_t kMaxMembers = 8;

std::unordered_map<PyObject*, MemberCall>& member_calls() {
  static auto* const calls = new std::unordered_map<PyObject*, MemberCall>;
  return *calls;
}

// What the class of a module decides about its calls. Borrowed: valid as long as the class is what
// it was.
struct ClassFacts {
  PyTypeObject* type = nullptr;
  unsigned version = 0;
  bool is_plain = false;        // it calls as Module does and finds attributes as every object does
  PyObject* forward = nullptr;  // as the class has it
  const MemberCall* call = nullptr;
};

PyObject* call_module(PyObject* self, PyObject* args, PyObject* kwargs);

ClassFacts read_facts(PyTypeObject* type, const ModuleClass& known) {
  ClassFacts facts;
  facts.type = type;
  facts.is_plain = _PyType_Lookup(type, known.call_impl_name) == known.call_impl &&
                   _PyType_Lookup(type, known.compiled) == Py_None &&
                   _PyType_Lookup(type, known.getattribute) ==
                       _PyType_Lookup(&PyBaseObject_Type, known.getattribute);
  facts.forward = _PyType_Lookup(type, known.forward);
  const auto found = member_calls().find(facts.forward);
  if (found != member_calls().end() && _PyType_Lookup(type, known.getattr_name) == known.getattr &&
      std::none_of(found->second.members.begin(), found->second.members.end(),
                   [&](PyObject* name) { return _PyType_Lookup(type, name) != nullptr; }))
    facts.call = &found->second;
  facts.version = type->tp_version_tag;
  // What Python has there looks the method up at each call. It comes back by itself when another
  // `__call__` is assigned to the class or to one above it.
  if (_PyType_Lookup(type, known.call_name) == known.call) type->tp_call = call_module;
  return facts;
}

// Python gives a class a new number, which no class had before, whenever it or a class above it
// changes; zero says that it has none.
const ClassFacts& facts_of(PyTypeObject* type) {
  static std::array<ClassFacts, 256> kept;
  const auto address = reinterpret_cast<uintptr_t>(type);
  ClassFacts& facts = kept[(address >> 5 ^ address >> 13) % kept.size()];
  if (facts.type != type || facts.version == 0 || facts.version != type->tp_version_tag)
    facts = read_facts(type, *module_class);
  return facts;
}

// Whether a call of the module is a call of `forward` and nothing else. Tables of hooks of other
// types than dict are left to Python.
bool is_plain_call(const ClassFacts& facts, PyObject* members, const ModuleClass& known) {
  if (!facts.is_plain) return false;
  const auto has = [&](PyObject* name) { return PyDict_Contains(members, name) != 0; };
  if (has(known.compiled) || has(known.call_impl_name)) return false;
  return std::all_of(std::begin(known.own_hooks), std::end(known.own_hooks),
                     [&](PyObject* name) {
                       return is_empty_table(PyDict_GetItemWithError(members, name));
                     }) &&
         std::all_of(std::begin(known.shared), std::end(known.shared), is_empty_table);
}

// Calls `function(self, *args, **kwargs)`.
PyObject* call_with_self(PyObject* function, PyObject* self, PyObject* args, PyObject* kwargs) {
  const size_t count = PyTuple_GET_SIZE(args) + 1;
  PyObject* few[8];
  std::vector<PyObject*> many;
  if (count + 1 > std::size(few)) many.resize(count + 1);
  PyObject** const stack = many.empty() ? few : many.data();
  // The first place is the callee's to use.
  stack[1] = self;
  for (size_t i = 1; i < count; ++i) stack[i + 1] = PyTuple_GET_ITEM(args, i - 1);
  return PyObject_VectorcallDict(function, stack + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                 kwargs);
}

// By a profiler or debugger, or by a trace or anomaly mode, which note the lines of calls.
bool is_watched() {
  const PyThreadState* const thread = PyThreadState_Get();
  return thread->c_profilefunc || thread->c_tracefunc || !dispatch::modes().empty() ||
         autograd::is_anomaly_enabled();
}

// Adds the line of the Python code that made the call, as if it had run.
void add_to_traceback(const MemberCall& call) {
  PyObject *type = nullptr, *error = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &error, &traceback);
  PyFrameObject* const frame = PyFrame_New(PyThreadState_Get(), call.line, call.globals, nullptr);
  PyErr_Restore(type, error, traceback);
  if (!frame) return;
  PyTraceBack_Here(frame);
  Py_DECREF(frame);
}

// The call that stands for the Python code of a forward; null without an error where that code has
// to run.
PyObject* try_member_call(const MemberCall& call, PyObject* forward, PyObject* members,
                          PyObject* input) {
  if (PyFunction_GET_CODE(forward) != call.code || is_watched()) return nullptr;
  Ref function = Ref::share(PyDict_GetItemWithError(call.home, call.name));
  PyObject* const table = PyDict_GetItemWithError(members, module_class->parameters);
  if (!function || !table || !PyDict_Check(table)) return nullptr;
  Ref values[kMaxMembers];
  PyObject* stack[kMaxMembers + 1] = {input};
  for (size_t i = 0; i < call.members.size(); ++i) {
    PyObject* value = PyDict_GetItemWithError(members, call.members[i]);
    if (!value) value = PyDict_GetItemWithError(table, call.members[i]);
    if (!value) return nullptr;
    values[i] = Ref::share(value);
    stack[i + 1] = value;
  }
  const size_t by_keyword = call.kwnames ? PyTuple_GET_SIZE(call.kwnames) : 0;
  PyObject* const result = PyObject_Vectorcall(function.get(), stack,
                                               call.members.size() + 1 - by_keyword, call.kwnames);
  if (!result) add_to_traceback(call);
  return result;
}

PyObject* call_forward(const ClassFacts& facts, PyObject* self, PyObject* members, PyObject* args,
                       PyObject* kwargs) {
  const ModuleClass& known = *module_class;
  // A function of the class needs no bound method; the reference outlives what the call changes.
  Ref method = Ref::share(facts.forward);
  if (method && PyType_HasFeature(Py_TYPE(method.get()), Py_TPFLAGS_METHOD_DESCRIPTOR) &&
      PyDict_Contains(members, known.forward) == 0) {
    if (facts.call && PyTuple_GET_SIZE(args) == 1 && (!kwargs || PyDict_GET_SIZE(kwargs) == 0)) {
      PyObject* const result =
          try_member_call(*facts.call, method.get(), members, PyTuple_GET_ITEM(args, 0));
      if (result || PyErr_Occurred()) return result;
    }
    return call_with_self(method.get(), self, args, kwargs);
  }
  Ref forward(PyObject_GetAttr(self, known.forward));
  return forward ? PyObject_Call(forward.get(), args, kwargs) : nullptr;
}

PyObject* call_module(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    Ref members(checked(PyObject_GenericGetDict(self, nullptr)));
    // A copy: what the call runs may change what is kept.
    const ClassFacts facts = facts_of(Py_TYPE(self));
    if (is_plain_call(facts, members.get(), *module_class))
      return call_forward(facts, self, members.get(), args, kwargs);
    if (PyErr_Occurred()) return nullptr;
    return call_with_self(module_class->wrapped_call_impl, self, args, kwargs);
  });
}

PyMethodDef call_definition = {"__call__", as_function(call_module), METH_VARARGS | METH_KEYWORDS,
                               "__call__($self, /, *args, **kwargs)\n--\n\n"
                               "Runs forward between the hooks."};

void read_shared_hooks() {
  for (size_t i = 0; i < std::size(module_class->shared); ++i) {
    PyObject* const table =
        PyDict_GetItemWithError(module_class->shared_tables, module_class->shared_hooks[i]);
    Py_XINCREF(table);
    Py_XSETREF(module_class->shared[i], table);
  }
}

PyObject* module_call(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2 && PyType_Check(argv[0]) && PyDict_Check(argv[1]),
                     "_module_call(): expected a class and a dictionary");
    TAEDA_CHECK(!module_class, "_module_call(): there is one class of modules");
    PyObject* const type = argv[0];
    Ref call(checked(PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type), &call_definition)));
    Ref inner(checked(PyObject_GetAttrString(type, "_call_impl")));
    Ref wrapped(checked(PyObject_GetAttrString(type, "_wrapped_call_impl")));
    Ref getattr(checked(PyObject_GetAttrString(type, "__getattr__")));
    module_class = new ModuleClass{Py_NewRef(call.get()), inner.release(), wrapped.release(),
                                   getattr.release(), Py_NewRef(argv[1])};
    read_shared_hooks();
    return call.release();
  });
}

PyObject* shared_hooks_replaced(PyObject*, PyObject*) {
  return guarded([&] {
    read_shared_hooks();
    return Py_NewRef(Py_None);
  });
}

PyObject* member_call(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 6 && PyFunction_Check(argv[0]) && PyDict_Check(argv[1]) &&
                         PyUnicode_Check(argv[2]) && PyTuple_Check(argv[3]) &&
                         PyTuple_Check(argv[4]) && PyLong_Check(argv[5]),
                     "_member_call(): expected a function, a dictionary, a name, two tuples and a "
                     "line");
    MemberCall call{Py_NewRef(PyFunction_GET_CODE(argv[0])), Py_NewRef(argv[1]),
                    Py_NewRef(argv[2])};
    for (PyObject* names : {argv[3], argv[4]})
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
        call.members.push_back(interned(PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i))));
    TAEDA_CHECK(call.members.size() <= kMaxMembers, "_member_call(): got ", call.members.size(),
                " members, expected at most ", kMaxMembers);
    call.kwnames = PyTuple_GET_SIZE(argv[4]) ? Py_NewRef(argv[4]) : nullptr;
    call.globals = Py_NewRef(PyFunction_GET_GLOBALS(argv[0]));
    const auto* code = reinterpret_cast<PyCodeObject*>(call.code);
    call.line =
        PyCode_NewEmpty(PyUnicode_AsUTF8(code->co_filename), PyUnicode_AsUTF8(code->co_name),
                        static_cast<int>(PyLong_AsLong(argv[5])));
    if (!call.line) throw_python_error();
    // Kept, as the classes that have it are.
    member_calls().insert_or_assign(Py_NewRef(argv[0]), std::move(call));
    return Py_NewRef(argv[0]);
  });
}

}  // namespace

bool is_plain_module_call(PyObject* module) {
  if (!module_class) return false;
  const Ref members(PyObject_GenericGetDict(module, nullptr));
  const bool is_plain =
      members && is_plain_call(facts_of(Py_TYPE(module)), members.get(), *module_class);
  if (PyErr_Occurred()) PyErr_Clear();
  return is_plain;
}

void tables_of_plain_call(PyObject* module, std::vector<PyObject*>& tables) {
  const Ref members(PyObject_GenericGetDict(module, nullptr));
  for (PyObject* name : module_class->own_hooks)
    tables.push_back(PyDict_GetItemWithError(members.get(), name));
  for (PyObject* table : module_class->shared) tables.push_back(table);
}

PyMethodDef module_call_table[] = {
    {"_module_call", as_function(module_call), METH_FASTCALL,
     "_module_call(cls, tables) -> method\n\n"
     "`__call__` of the class of modules; `tables` holds the hooks of all modules."},
    {"_module_hooks_replaced", shared_hooks_replaced, METH_NOARGS,
     "_module_hooks_replaced()\n\nTo be called where another table of hooks is put into `tables`."},
    {"_member_call", as_function(member_call), METH_FASTCALL,
     "_member_call(forward, home, name, members, keywords, line) -> forward\n\n"
     "Says that forward(self, input) is home[name](input, self.member, ..., keyword=self.keyword), "
     "in this line of its file."},
    {}};

}  // namespace taeda::python
