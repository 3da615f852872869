// Inputs of a traced program that share memory.
//
// Note [Shared inputs]: where a program writes to such inputs, what they look at becomes one value,
// their memory: the input that covers it, or all of them laid into a line. Inside the trace each
// input is a view of that value, so a write to one shows in the others, and each has a new value at
// the end. Inputs that autograd knows as views of one tensor are such views inside, too: a write
// changes the histories of all. Inputs of different families (one is the other's detach()) share
// values alone. The gradient of a family goes to the input that covers the memory, or its parts to
// the inputs that look at them, each part to one: what lies before the program adds them up.
//
// Memory is told by its address: two arrays that were lent to the program may overlap and have a
// storage each. A fake tensor has the address and the base of the tensor that it stands for
// (FakeMode::note_real); others without an address share memory where they share a storage.
// Inputs may read the same bytes as different dtypes; the line is then one of the real numbers that
// all are made of, or of integers, and what looks at it does so through view(dtype).
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
  std::vector<SymInt> places;  // of their first elements in the line
  std::vector<SharedFamily> families;
  DType dtype = DType::Undefined;  // of the line
  SymInt length = 0;               // its elements
  std::optional<size_t> whole;     // the input that covers them all and starts its storage

  const SymInt& place_of(size_t input) const;
};

// Whether the input, or the tensor that it stands for, is this one.
bool is_base(const Tensor& input, const TensorImpl* base);
// Memories that several of the inputs look at. Inputs on different parts of a storage share
// nothing.
TAEDA_API std::vector<SharedMemory> find_shared_memories(
    const std::vector<dispatch::Value>& inputs);
// NotImplementedError where a line cannot stand for the memory.
void check_line(const SharedMemory& memory, const std::vector<dispatch::Value>& inputs,
                bool has_gradients);

// What a program relies on that was traced for inputs which share memory.
struct Sharing {
  Sharing() = default;
  // Nothing of memories none of whose inputs is among `written`.
  TAEDA_API Sharing(const std::vector<dispatch::Value>& inputs, const std::vector<size_t>& written);
  TAEDA_API explicit Sharing(const std::vector<dispatch::Value>& inputs);
  // Whether it is that of later inputs, too.
  bool holds_for(const Sharing& later) const {
    return inputs == later.inputs && (is_symbolic || places == later.places);
  }

  std::vector<std::vector<size_t>> inputs;  // by memory
  // Of each of these its sizes, strides, offset and place, and of which family it is.
  std::vector<int64_t> places;
  bool is_symbolic = false;  // some of them are

 private:
  void add(const SharedMemory& memory, const std::vector<dispatch::Value>& values);
};

// As the input looks at its memory, on a tensor that holds this memory alone.
Tensor view_of_memory(const Tensor& whole, const Tensor& input, const SymInt& place);
// `whole` with `part` where the input looks.
Tensor scatter_where_looks(const Tensor& whole, const Tensor& part, const Tensor& input,
                           const SymInt& place);

}  // namespace taeda::fx
