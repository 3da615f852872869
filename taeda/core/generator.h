// A source of random numbers: the seed and offset of a Philox stream (Note [Random stream]).
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "taeda/base/error.h"
#include "taeda/base/export.h"
#include "taeda/base/intrusive_ptr.h"
#include "taeda/base/span.h"
#include "taeda/core/device.h"
#include "taeda/core/philox.h"

namespace taeda {

class Generator;
// The generator of CPU operators that are given none. Its first seed is PyTorch's default.
TAEDA_API Generator& default_cpu_generator();

// A range of the random stream for one operator: the key, and the first of the counters that are
// now its own.
struct PhiloxRange {
  uint64_t seed = 0;
  uint64_t offset = 0;
};

// Every member function locks; operators call reserve once and then work without the lock.
class TAEDA_API GeneratorImpl final : public RefCounted {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;  // PyTorch's
  static constexpr size_t kStateBytes = 16;
  using State = std::array<uint8_t, kStateBytes>;

  explicit GeneratorImpl(Device device = Device(DeviceType::CPU), uint64_t seed = kDefaultSeed)
      : device_(device), seed_(seed) {}

  Device device() const { return device_; }

  // Takes the next `num_counters` counters; the result names the first.
  PhiloxRange reserve_range(int64_t num_counters);
  // The same for a caller that knows the seed.
  uint64_t reserve(int64_t num_counters) { return reserve_range(num_counters).offset; }

  // Starts the stream of `seed` from its beginning.
  void manual_seed(uint64_t seed);
  // Starts a stream the OS chooses, and returns its seed.
  uint64_t seed();
  // The seed of the current stream.
  uint64_t initial_seed() const;
  uint64_t offset() const;
  void set_offset(uint64_t offset);

  // Seed and offset, each as eight little-endian bytes.
  State get_state() const;
  // Throws a RuntimeError unless `state` has kStateBytes bytes.
  void set_state(Span<uint8_t> state);
  // A generator of its own in the same state.
  IntrusivePtr<GeneratorImpl> clone() const;

 private:
  friend Generator& default_cpu_generator();

  const Device device_;
  mutable std::mutex mutex_;
  uint64_t seed_;
  uint64_t offset_ = 0;
};

// Shared handle to a GeneratorImpl; undefined when default-constructed, which operators read as
// "the default generator of the device".
class Generator {
 public:
  Generator() = default;
  explicit Generator(IntrusivePtr<GeneratorImpl> impl) : impl_(std::move(impl)) {}
  explicit Generator(Device device, uint64_t seed = GeneratorImpl::kDefaultSeed)
      : impl_(make_intrusive<GeneratorImpl>(device, seed)) {}

  bool defined() const { return static_cast<bool>(impl_); }
  GeneratorImpl& impl() const {
    TAEDA_CHECK(impl_, "Generator with undefined implementation is not allowed");
    return *impl_;
  }
  const IntrusivePtr<GeneratorImpl>& ptr() const { return impl_; }

  Device device() const { return impl().device(); }
  PhiloxRange reserve_range(int64_t num_counters) const {
    return impl().reserve_range(num_counters);
  }
  void manual_seed(uint64_t seed) const { impl().manual_seed(seed); }
  uint64_t seed() const { return impl().seed(); }
  uint64_t initial_seed() const { return impl().initial_seed(); }
  // The same two by PyTorch's names.
  uint64_t current_seed() const { return initial_seed(); }
  void set_current_seed(uint64_t seed) const { manual_seed(seed); }
  GeneratorImpl::State get_state() const { return impl().get_state(); }
  void set_state(Span<uint8_t> state) const { impl().set_state(state); }
  Generator clone() const { return Generator(impl().clone()); }

  // The same generator, not merely the same state.
  friend bool operator==(const Generator& a, const Generator& b) = default;

 private:
  IntrusivePtr<GeneratorImpl> impl_;
};

// `generator`, or the default where it is undefined; throws a RuntimeError where it is of another
// device.
TAEDA_API const Generator& cpu_generator_or_default(const Generator& generator);

}  // namespace taeda
