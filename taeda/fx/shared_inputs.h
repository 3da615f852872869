// Inputs of a traced program that share memory.
//
// Note [Shared inputs]: where a program writes to such inputs, what they look at becomes one value,
// their memory: the input that covers it, or all of them laid into a line. Inside the trace each
// input is a view of that value, so a write to one shows in the others, and each has a new value at
// the end. Inputs that autograd knows as views of one tensor are such views inside, too: a write
// changes the histories of all. Inputs of different families (one is the other's detach()) share
// values alone. The gradient of a family goes to the input that covers the memory, or its parts to
// the inputs that look at them, each part to one: what lies before the program adds them up.
#pragma once

#include <optional>

#include "taeda/dispatch/value.h"

namespace taeda::fx {

// Inputs that are views of one tensor, in autograd's sense.
struct SharedFamily {
  const TensorImpl* base = nullptr;
  std::vector<size_t> inputs;
  bool requires_grad = false;
  bool is_leaf = false;  // the tensor that they are views of
};

// Inputs that look at the same memory.
struct SharedMemory {
  std::vector<size_t> inputs;
  std::vector<SharedFamily> families;
  SymInt first = 0, end = 0;    // elements of the storage
  std::optional<size_t> whole;  // the input that covers them all and starts its storage
};

// Whether two of them are one; null stands for none. Each call of a compiled program asks that, of
// as many inputs as a model has parameters.
TAEDA_API bool has_common_storage(Span<const StorageImpl*> storages);
// Memories that several of the inputs look at. Inputs on different parts of a storage share
// nothing.
TAEDA_API std::vector<SharedMemory> find_shared_memories(
    const std::vector<dispatch::Value>& inputs);
// NotImplementedError where inputs read the same memory as different numbers.
void check_alike(const SharedMemory& memory, const std::vector<dispatch::Value>& inputs);

// As the input looks at its memory, on a tensor that holds this memory alone.
Tensor view_of_memory(const Tensor& whole, const Tensor& input, const SharedMemory& memory);
// `whole` with `part` where the input looks.
Tensor scatter_into_memory(const Tensor& whole, const Tensor& part, const Tensor& input,
                           const SharedMemory& memory);

}  // namespace taeda::fx
