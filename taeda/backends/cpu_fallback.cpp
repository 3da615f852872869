// The CPU in place of a device's missing kernel: arguments there, results back, one warning, a
// count.
#include <mutex>

#include "taeda/backends/device_kernels.h"
#include "taeda/base/log.h"
#include "taeda/dispatch/levels.h"
#include "taeda/dispatch/schema.h"
#include "taeda/ops/shape.h"
#include "taeda/ops/spec.h"

namespace taeda::devices {
namespace {

using dispatch::Operator;
using dispatch::Stack;
using dispatch::Value;

struct Counts {
  std::mutex mutex;
  std::map<std::string, int64_t> calls;
};
Counts& counts() {
  static Counts* c = new Counts;
  return *c;
}

void count_call(const Operator& op, Device device) {
  const std::string name = op.full_name();
  bool is_first;
  {
    Counts& c = counts();
    std::lock_guard lock(c.mutex);
    is_first = ++c.calls[name] == 1;
  }
  if (is_first)
    warn(str("The operator 'aten::", name, "' is not implemented on the device '",
             device_type_name(device.type),
             "' and runs on the CPU instead; its arguments and results are copied at every call."));
}

// The tensors of one call: originals on the device and their images on the host.
class Images {
 public:
  Tensor to_host(const Tensor& t) {
    if (!t.defined() || t.is_cpu() || t.is_meta()) return t;
    device_ = t.device();
    for (const Pair& p : pairs_)
      if (p.original.is_same(t)) return p.image;
    pairs_.push_back({t, host_image(t, true)});
    return pairs_.back().image;
  }
  // A result: the argument it is, or a tensor of its own on the device.
  Tensor to_device(const Tensor& t) const {
    if (!t.defined() || !t.is_cpu() || !device_) return t;
    for (const Pair& p : pairs_)
      if (p.image.is_same(t)) return p.original;
    const Tensor out = make_tensor_strided(t.sizes(), dense_strides(t), t.dtype(), *device_);
    if (out.strides() == t.strides())
      write_image(t, out);
    else
      write_image(contiguous_copy(t), out);
    return out;
  }
  void write_back(const Tensor& original) const {
    for (const Pair& p : pairs_) {
      if (!p.original.is_same(original)) continue;
      Tensor target = original;
      resize_to(target, p.image.sym_sizes());
      if (!target.impl()->is_non_overlapping_and_dense()) {
        // What lies between the elements may be another result's: it is read anew.
        const Tensor now = host_image(target, true);
        distinct_places(now).copy_(distinct_places(p.image));
        write_image(now, target);
      } else if (target.strides() == p.image.strides())
        write_image(p.image, target);
      else
        write_image(copy_with_strides(p.image, target.strides()), target);
    }
  }
  void set_device(Device d) { device_ = d; }
  const std::optional<Device>& device() const { return device_; }

 private:
  struct Pair {
    Tensor original, image;
  };

  static IntVec dense_strides(const Tensor& t) {
    if (t.impl()->is_non_overlapping_and_dense()) return IntVec(t.strides());
    IntVec strides(t.sizes().size());
    int64_t running = 1;
    for (size_t i = strides.size(); i-- > 0;) {
      strides[i] = running;
      running *= std::max<int64_t>(t.sizes()[i], 1);
    }
    return strides;
  }
  static Tensor copy_with_strides(const Tensor& t, IntList strides) {
    Tensor copy = make_tensor_strided(t.sizes(), strides, t.dtype(), DeviceType::CPU);
    copy.copy_(t);
    return copy;
  }
  static Tensor contiguous_copy(const Tensor& t) { return copy_with_strides(t, dense_strides(t)); }

  std::vector<Pair> pairs_;
  std::optional<Device> device_;
};

// Generators of a device drawn from on the host: copies in their state, which goes back when the
// call is over.
class HostGenerators {
 public:
  void to_host(Value& value) {
    const Generator original = value.get<Generator>();
    if (!original.defined() || original.device().is_cpu()) return;
    Generator image(Device(DeviceType::CPU));
    const GeneratorImpl::State state = original.get_state();
    image.set_state({state.data(), state.size()});
    pairs_.emplace_back(original, image);
    value = Value(image);
  }
  ~HostGenerators() {
    for (const auto& [original, image] : pairs_) {
      const GeneratorImpl::State state = image.get_state();
      original.set_state({state.data(), state.size()});
    }
  }

 private:
  std::vector<std::pair<Generator, Generator>> pairs_;
};

// Tensors without values, and results elsewhere, would be read and written as the host's.
void check_places(const Operator& op, const Stack& stack, const std::vector<Tensor>& written,
                  Device device) {
  const std::string name = op.full_name();
  for (const Value& value : stack)
    dispatch::for_each_tensor(value, [&](const Tensor& t) {
      if (t.is_meta()) check_result_device(name.c_str(), &t, device);
    });
  for (const Tensor& t : written)
    if (t.defined()) check_result_device(name.c_str(), &t, device);
}

}  // namespace

void run_on_cpu(const Operator& op, KeySet, Stack& stack, void*) {
  const dispatch::Schema schema = dispatch::parse_schema(op.schema);
  BelowADInplaceOrView guard;
  Images images;
  std::vector<Tensor> written;
  HostGenerators generators;
  for (size_t i = 0; i < stack.size() && i < schema.arguments.size(); ++i) {
    if (stack[i].is<Device>() && !stack[i].get<Device>().is_cpu()) {
      images.set_device(stack[i].get<Device>());
      stack[i] = Value(Device());
    }
    if (stack[i].is<Generator>()) generators.to_host(stack[i]);
    if (schema.arguments[i].is_written)
      dispatch::for_each_tensor(stack[i], [&](const Tensor& t) { written.push_back(t); });
    dispatch::map_tensors(stack[i], [&](const Tensor& t) { return images.to_host(t); });
  }
  TAEDA_CHECK_NOT_IMPLEMENTED(images.device(), "Could not run 'aten::", op.full_name(),
                              "' on a device: it has no tensor on one");
  check_places(op, stack, written, *images.device());
  count_call(op, *images.device());
  op.call_boxed(const_cast<Operator&>(op), KeySet(Key::Dense) | KeySet(DeviceType::CPU), stack);
  for (const Tensor& t : written) images.write_back(t);
  dispatch::map_tensors(stack, [&](const Tensor& t) { return images.to_device(t); });
}

std::map<std::string, int64_t> fallback_counts() {
  Counts& c = counts();
  std::lock_guard lock(c.mutex);
  return c.calls;
}

}  // namespace taeda::devices
