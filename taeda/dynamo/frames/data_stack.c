// CPython keeps its own functions for the data stack to itself, so this file does the same with the
// public fields of the thread state. Chunks come from the arena allocator because CPython may be
// the one that frees them.
#include "taeda/dynamo/frames/data_stack.h"

enum { kChunkBytes = 16 * 1024, kSpareWords = 1000 };

static PyObject** push_chunk(PyThreadState* thread, size_t size) {
  size_t bytes = kChunkBytes;
  while (bytes < sizeof(PyObject*) * (size + kSpareWords)) bytes *= 2;
  PyObjectArenaAllocator arena;
  PyObject_GetArenaAllocator(&arena);
  _PyStackChunk* chunk = arena.alloc(arena.ctx, bytes);
  if (chunk == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  _PyStackChunk* below = thread->datastack_chunk;
  chunk->previous = below;
  chunk->size = bytes;
  chunk->top = 0;
  if (below != NULL) below->top = thread->datastack_top - &below->data[0];
  thread->datastack_chunk = chunk;
  thread->datastack_limit = (PyObject**)((char*)chunk + bytes);
  // The first word of the first chunk stays unused: a frame there would free the chunk on its pop.
  PyObject** base = &chunk->data[below == NULL];
  thread->datastack_top = base + size;
  return base;
}

PyObject** taeda_data_stack_push(PyThreadState* thread, size_t size) {
  PyObject** base = thread->datastack_top;
  if (base == NULL || size >= (size_t)(thread->datastack_limit - base))
    return push_chunk(thread, size);
  thread->datastack_top = base + size;
  return base;
}

void taeda_data_stack_pop(PyThreadState* thread, PyObject** base) {
  _PyStackChunk* chunk = thread->datastack_chunk;
  if (base != &chunk->data[0]) {
    thread->datastack_top = base;
    return;
  }
  _PyStackChunk* below = chunk->previous;
  thread->datastack_chunk = below;
  thread->datastack_top = &below->data[below->top];
  thread->datastack_limit = (PyObject**)((char*)below + below->size);
  PyObjectArenaAllocator arena;
  PyObject_GetArenaAllocator(&arena);
  arena.free(arena.ctx, chunk, chunk->size);
}
