// Taeda for C++ programs: tensors, operators, indexing, printing, autograd.
//
//   using namespace taeda::indexing;
//   taeda::manual_seed(0);
//   taeda::Tensor w = taeda::randn({3}, taeda::requires_grad());
//   ((2 * w - 1) * w).sum().backward();
//   std::cout << w.grad().index({Slice(1, None)}) << std::endl;
//
// Beside it, included by those who need them: taeda/nn.h and taeda/optim.h (models, training),
// taeda/compile.h (compiled functions), taeda/func/func.h (transforms), taeda/fx/text.h and its
// folder (graphs), taeda/export/exported_program.h (saved programs), taeda/dispatch/library.h
// (operators of one's own). No source of the library includes this header.
#pragma once

#include "taeda/autograd/function.h"
#include "taeda/autograd/grad.h"
#include "taeda/autograd/guards.h"
#include "taeda/base/error.h"
#include "taeda/core/constants.h"
#include "taeda/core/from_blob.h"
#include "taeda/core/generator.h"
#include "taeda/core/tensor.h"
#include "taeda/ops/all_functions.h"
#include "taeda/ops/call_forms.h"
#include "taeda/ops/comparison/overloads.h"
#include "taeda/ops/factory/tensor_data.h"
#include "taeda/ops/indexing/tensor_index.h"
#include "taeda/ops/member_functions.h"
#include "taeda/ops/print.h"
#include "taeda/ops/short_names.h"

namespace taeda {

using autograd::grad;

// Starts the stream of random numbers that `seed` names.
namespace devices {
TAEDA_API void seed_devices(uint64_t seed);
}
inline void manual_seed(uint64_t seed) {
  default_cpu_generator().manual_seed(seed);
  devices::seed_devices(seed);
}

// A generator of its own for the CPU.
inline Generator make_generator(uint64_t seed = GeneratorImpl::kDefaultSeed) {
  return Generator(Device(DeviceType::CPU), seed);
}

// Options to start from: dtype(kDouble).requires_grad(true).
inline TensorOptions dtype(DType t) { return TensorOptions(t); }
inline TensorOptions device(Device d) { return TensorOptions(d); }
inline TensorOptions device(DeviceType d) { return TensorOptions(d); }
inline TensorOptions layout(Layout l) { return TensorOptions(l); }
inline TensorOptions requires_grad(bool value = true) {
  return TensorOptions().requires_grad(value);
}

}  // namespace taeda
