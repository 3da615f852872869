// Storages by descriptor and by name, and what a child process tells the system about itself.
#include "python/src/multiprocessing/storage_sharing.h"

#include <sys/prctl.h>

#include <cerrno>
#include <cstring>

#include "python/interop/errors.h"
#include "python/interop/wrap.h"
#include "python/src/tensor/storage_type.h"
#include "taeda/core/shared_memory.h"

namespace taeda::python {

namespace {

using Handle = SharedMemory::Handle;

Storage& expect_storage(PyObject* o) {
  TAEDA_CHECK_TYPE(is_storage(o), "expected an UntypedStorage, got ", Py_TYPE(o)->tp_name);
  return storage_of(o);
}

size_t expect_size(Py_ssize_t nbytes) {
  TAEDA_CHECK_VALUE(nbytes >= 0, "expected a non-negative size, got ", int64_t{nbytes});
  return static_cast<size_t>(nbytes);
}

PyObject* is_shared(PyObject*, PyObject* o) {
  return guarded([&] { return wrap(SharedMemory::of(*expect_storage(o)) != nullptr); });
}

PyObject* share_descriptor(PyObject*, PyObject* o) {
  return guarded([&] {
    const Storage& storage = expect_storage(o);
    share_memory(*storage, Handle::Descriptor);
    return checked(Py_BuildValue("in", shared_descriptor(*storage),
                                 static_cast<Py_ssize_t>(storage->nbytes())));
  });
}

PyObject* open_descriptor(PyObject*, PyObject* args) {
  int descriptor = -1;
  Py_ssize_t nbytes = 0;
  if (!PyArg_ParseTuple(args, "in:open_descriptor", &descriptor, &nbytes)) return nullptr;
  return guarded(
      [&] { return wrap_storage(open_shared_storage(descriptor, expect_size(nbytes))); });
}

PyObject* share_name(PyObject*, PyObject* o) {
  return guarded([&] {
    const Storage& storage = expect_storage(o);
    share_memory(*storage, Handle::Name);
    return Py_NewRef(Py_None);
  });
}

PyObject* send_name(PyObject*, PyObject* o) {
  return guarded([&] {
    const Storage& storage = expect_storage(o);
    share_memory(*storage, Handle::Name);
    return checked(Py_BuildValue("sn", send_shared_name(*storage).c_str(),
                                 static_cast<Py_ssize_t>(storage->nbytes())));
  });
}

PyObject* open_name(PyObject*, PyObject* args) {
  const char* name = nullptr;
  Py_ssize_t nbytes = 0;
  if (!PyArg_ParseTuple(args, "sn:open_name", &name, &nbytes)) return nullptr;
  return guarded(
      [&] { return wrap_storage(open_shared_storage(std::string(name), expect_size(nbytes))); });
}

PyObject* drop_name(PyObject*, PyObject* o) {
  return guarded([&] {
    drop_shared_name(*expect_storage(o));
    return Py_NewRef(Py_None);
  });
}

PyObject* new_shared(PyObject*, PyObject* args) {
  Py_ssize_t nbytes = 0;
  int is_named = 0;
  if (!PyArg_ParseTuple(args, "np:new_shared", &nbytes, &is_named)) return nullptr;
  return guarded([&] {
    return wrap_storage(
        new_shared_storage(expect_size(nbytes), is_named ? Handle::Name : Handle::Descriptor));
  });
}

PyObject* set_parent_death_signal(PyObject*, PyObject* args) {
  int signal = 0;
  if (!PyArg_ParseTuple(args, "i:set_parent_death_signal", &signal)) return nullptr;
  return guarded([&] {
    TAEDA_CHECK(prctl(PR_SET_PDEATHSIG, signal) == 0, "prctl failed: ", std::strerror(errno));
    return Py_NewRef(Py_None);
  });
}

PyObject* set_thread_name(PyObject*, PyObject* args) {
  const char* name = nullptr;
  if (!PyArg_ParseTuple(args, "s:set_thread_name", &name)) return nullptr;
  return guarded([&] {
    TAEDA_CHECK(prctl(PR_SET_NAME, name) == 0, "prctl failed: ", std::strerror(errno));
    return Py_NewRef(Py_None);
  });
}

PyObject* get_thread_name(PyObject*, PyObject*) {
  return guarded([&] {
    char name[16] = {};  // with its end: the system's limit
    TAEDA_CHECK(prctl(PR_GET_NAME, name) == 0, "prctl failed: ", std::strerror(errno));
    return wrap(std::string_view(name));
  });
}

}  // namespace

const PyMethodDef multiprocessing_table[] = {
    {"is_shared", is_shared, METH_O, nullptr},
    {"share_descriptor", share_descriptor, METH_O,
     "The descriptor and the size of a storage, after a move to shared memory."},
    {"open_descriptor", open_descriptor, METH_VARARGS, nullptr},
    {"share_name", share_name, METH_O, nullptr},
    {"send_name", send_name, METH_O,
     "The name and the size of a storage for one message, after a move to shared memory."},
    {"open_name", open_name, METH_VARARGS, nullptr},
    {"drop_name", drop_name, METH_O, "Counts a message as received whose storage is here already."},
    {"new_shared", new_shared, METH_VARARGS, "A storage of zeros, by a name or by a descriptor."},
    {"set_parent_death_signal", set_parent_death_signal, METH_VARARGS, nullptr},
    {"set_thread_name", set_thread_name, METH_VARARGS, nullptr},
    {"get_thread_name", get_thread_name, METH_NOARGS, nullptr},
    {}};

}  // namespace taeda::python
