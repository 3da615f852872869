// Facts from the records for code that follows a program without running it: fake tensors, tracers,
// functionalization, calls by name.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::dispatch {

// How a part that was seen through a view and written goes back into the whole.
enum class ViewInverse : uint8_t {
  None,         // no formula: by its memory
  Same,         // the part is the whole
  Reshape,      // a view with the sizes of the whole
  DType,        // a view with the dtype of the whole
  Itself,       // the same operator undoes it
  Permutation,  // the same operator with the inverse order
  Scatter,      // the operator <name>_scatter
  SelectEach,   // result i by select_scatter
  SliceEach,    // result i by slice_scatter
  Conjugate,
  Negative,
  AsReal,
  AsComplex,
};

// The values that an in-place operator leaves in all of its first argument, whatever was there.
enum class Overwrite : uint8_t {
  None,    // values of the old ones, or of a part only
  Source,  // those of argument 1, broadcast and converted
  Zeros,
};

struct Traits {
  ViewInverse inverse = ViewInverse::None;
  Overwrite overwrites = Overwrite::None;
  bool device_of_first = false;  // the result lies where the first tensor does, whatever the others
  bool mask_indices = false;     // masks in argument 1 mean coordinates of elements
  bool lifts_constant = false;   // the argument is a constant of the program
  bool comes_apart = false;      // a composite whose parts matter: it writes, or draws numbers
  bool unseen = false;           // a composite that PyTorch has not: its parts are seen instead
  bool gives_itself = false;     // a composite that is no call where its argument is the result
  bool takes_numbers = false;    // called by name, it takes numbers in place of tensors
  bool metadata_decides = false;  // whether it copies depends on dtype, device and layout
  // The meta tensor of a result with `count` rows or elements, which only data tells.
  Tensor (*counted)(const Tensor& self, const SymInt& count) = nullptr;
};

}  // namespace taeda::dispatch
