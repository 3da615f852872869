// A source of random numbers: the seed and offset of a Philox stream (Note [Random stream]), or a
// Mersenne twister with the numbers of PyTorch's CPU generator.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "taeda/base/error.h"
#include "taeda/base/export.h"
#include "taeda/base/intrusive_ptr.h"
#include "taeda/base/span.h"
#include "taeda/core/device.h"
#include "taeda/core/philox.h"

namespace taeda {

class Generator;
class MersenneTwister;

// Philox: numbers of a place in the stream, the same on every device and for any number of threads.
// Mersenne: PyTorch's numbers of the CPU for the same seed, drawn on one thread.
enum class RandomEngine : uint8_t { Philox, Mersenne };
// "philox" or "mt19937"; throws a ValueError for other names.
TAEDA_API RandomEngine random_engine_named(std::string_view name);
TAEDA_API std::string_view random_engine_name(RandomEngine engine);
// The engine of CPU generators made without one. Philox, unless the environment variable
// TAEDA_RANDOM_ENGINE names another at the start.
TAEDA_API RandomEngine default_random_engine();
// Also changes the default generator's engine, which starts the stream of its seed.
TAEDA_API void set_default_random_engine(RandomEngine engine);

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
  static constexpr size_t kStateBytes = 16;                 // of a Philox stream
  using State = std::vector<uint8_t>;

  // Of the default engine on the CPU, Philox elsewhere.
  explicit GeneratorImpl(Device device = Device(DeviceType::CPU), uint64_t seed = kDefaultSeed);
  ~GeneratorImpl() override;

  Device device() const { return device_; }
  // For callers that make one step of several calls, which lock it themselves.
  std::mutex& callers_mutex() { return callers_mutex_; }

  RandomEngine engine() const;
  // Starts the stream of the current seed with another engine. Twisters are the CPU's alone:
  // throws a ValueError for other devices.
  void set_engine(RandomEngine engine);
  // The twister under the generator's lock, or none where the engine is Philox.
  struct Serial {
    std::unique_lock<std::mutex> lock;
    MersenneTwister* twister;
  };
  Serial serial();

  // Takes the next `num_counters` counters; the result names the first. A twister gives a stream
  // of its own per call, seeded with its next word.
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

  // Seed and offset, each as eight little-endian bytes; or the bytes of a twister, which are
  // PyTorch's.
  State get_state() const;
  // The number of bytes tells the engine. Throws a RuntimeError for any other.
  void set_state(Span<uint8_t> state);
  // A generator of its own in the same state.
  IntrusivePtr<GeneratorImpl> clone() const;

 private:
  friend Generator& default_cpu_generator();

  const Device device_;
  mutable std::mutex mutex_;
  std::mutex callers_mutex_;
  uint64_t seed_;
  uint64_t offset_ = 0;
  std::unique_ptr<MersenneTwister> twister_;  // none: Philox
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
  std::mutex& mutex() const { return impl().callers_mutex(); }
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
