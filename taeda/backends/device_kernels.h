// Kernels of every registered device: copies and fills through the seam, and the CPU for operators
// it lacks.
#pragma once

#include <map>
#include <string>

#include "taeda/core/generator.h"
#include "taeda/core/tensor.h"
#include "taeda/dispatch/operator.h"

namespace taeda::devices {

// Registers copy_, fill_ and the CPU fallback in the Dense slots of a device type.
void register_device_kernels(DeviceType type);

// `generator`, or the default one of the device where it is undefined. Each device has a stream of
// its own; RuntimeError for a generator of another device.
TAEDA_API const Generator& generator_of(const Generator& generator, Device device);
// Starts the default streams of all registered devices from `seed`, as manual_seed does.
TAEDA_API void seed_devices(uint64_t seed);

// A CPU tensor with the same sizes, strides and flags; with `is_read` its memory holds a copy of
// the elements of `t`, otherwise nothing yet.
TAEDA_API Tensor host_image(const Tensor& t, bool is_read);
// Copies an image's memory back to the tensor it was made of.
TAEDA_API void write_image(const Tensor& image, const Tensor& t);

// A view of every place once, where elements of an expanded tensor share theirs.
Tensor distinct_places(const Tensor& t);

// copy_ between any devices: bytes where layouts agree, by way of the host where not.
Tensor& copy_between(Tensor& self, const Tensor& src, bool non_blocking);

// Runs an operator on the CPU for arguments that lie on a device: tensors are copied to the host,
// results and written arguments back. Warns at the first call of each operator and counts every
// call.
TAEDA_API void run_on_cpu(const dispatch::Operator& op, KeySet keys, dispatch::Stack& stack,
                          void* context);
// Calls since the process started, by the operator's full name.
TAEDA_API std::map<std::string, int64_t> fallback_counts();

// The same for a kernel that handles some arguments only: `fall_back(ops::add_out, self, other,
// alpha, out)`.
template <class R, class... A>
void fall_back(dispatch::TypedOperator<R(A...)>& op, std::type_identity_t<A>... args) {
  dispatch::Stack stack;
  (stack.push_back(dispatch::Boxing<A>::to(args)), ...);
  run_on_cpu(op, KeySet(), stack, nullptr);
}

}  // namespace taeda::devices
