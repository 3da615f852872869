// A thread's data stack: the memory that interpreter frames lie in.
#pragma once

#include <Python.h>

// Room for `size` words on top of the stack; null with MemoryError.
PyObject** taeda_data_stack_push(PyThreadState* thread, size_t size);
// Gives back the topmost room, which starts at `base`.
void taeda_data_stack_pop(PyThreadState* thread, PyObject** base);
