// Seeds, offsets and states of generators.
#include "taeda/core/generator.h"

#include <pthread.h>
#include <sys/random.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "taeda/core/mersenne.h"

namespace taeda {
namespace {

void store_word(uint8_t* bytes, uint64_t word) {
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(word >> (8 * i));
}

uint64_t load_word(const uint8_t* bytes) {
  uint64_t word = 0;
  for (int i = 0; i < 8; ++i) word |= uint64_t{bytes[i]} << (8 * i);
  return word;
}

uint64_t seed_from_os() {
  uint64_t seed = 0;
  ssize_t got;
  do got = getrandom(&seed, sizeof seed, 0);
  while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof seed)) {
    // Kernels without getrandom: time and address-space layout, spread by one Philox block.
    const auto now =
        static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    const PhiloxBlock mixed = philox(now, reinterpret_cast<uintptr_t>(&seed));
    seed = mixed[0] | uint64_t{mixed[1]} << 32;
  }
  // PyTorch's seeds have 53 bits, so that they survive a double.
  return seed & ((uint64_t{1} << 53) - 1);
}

// Of the default generator: of the system, so that runs and processes differ, as PyTorch's do.
// TAEDA_SEED repeats a run of a program that sets none.
uint64_t first_seed() {
  const char* text = std::getenv("TAEDA_SEED");
  if (!text || !*text) return seed_from_os();
  char* end = nullptr;
  errno = 0;
  const uint64_t seed = std::strtoull(text, &end, 0);
  TAEDA_CHECK_VALUE(errno == 0 && *end == 0 && *text != '-',
                    "TAEDA_SEED must be an integer of 64 bits, got '", text, "'");
  return seed;
}

std::atomic<RandomEngine>& default_engine() {
  static std::atomic<RandomEngine> engine = [] {
    const char* name = std::getenv("TAEDA_RANDOM_ENGINE");
    return name && *name ? random_engine_named(name) : RandomEngine::Philox;
  }();
  return engine;
}

}  // namespace

RandomEngine random_engine_named(std::string_view name) {
  if (name == "philox") return RandomEngine::Philox;
  TAEDA_CHECK_VALUE(name == "mt19937", "unknown random engine: got '", name,
                    "', expected 'philox' or 'mt19937'");
  return RandomEngine::Mersenne;
}

std::string_view random_engine_name(RandomEngine engine) {
  return engine == RandomEngine::Mersenne ? "mt19937" : "philox";
}

RandomEngine default_random_engine() { return default_engine(); }

void set_default_random_engine(RandomEngine engine) {
  default_engine() = engine;
  default_cpu_generator().impl().set_engine(engine);
}

GeneratorImpl::GeneratorImpl(Device device, uint64_t seed) : device_(device), seed_(seed) {
  if (device.is_cpu() && default_random_engine() == RandomEngine::Mersenne)
    twister_ = std::make_unique<MersenneTwister>(seed);
}

GeneratorImpl::~GeneratorImpl() = default;

RandomEngine GeneratorImpl::engine() const {
  std::lock_guard lock(mutex_);
  return twister_ ? RandomEngine::Mersenne : RandomEngine::Philox;
}

void GeneratorImpl::set_engine(RandomEngine engine) {
  TAEDA_CHECK_VALUE(engine == RandomEngine::Philox || device_.is_cpu(),
                    "the engine 'mt19937' draws on the CPU alone: got a generator of '",
                    device_.text(), "'");
  std::lock_guard lock(mutex_);
  offset_ = 0;
  twister_.reset();
  if (engine == RandomEngine::Mersenne) twister_ = std::make_unique<MersenneTwister>(seed_);
}

GeneratorImpl::Serial GeneratorImpl::serial() {
  std::unique_lock lock(mutex_);
  return {std::move(lock), twister_.get()};
}

PhiloxRange GeneratorImpl::reserve_range(int64_t num_counters) {
  TAEDA_INTERNAL_CHECK(num_counters >= 0, "cannot reserve ", num_counters, " counters");
  std::lock_guard lock(mutex_);
  if (twister_) return {twister_->random64(), 0};
  const PhiloxRange range{seed_, offset_};
  offset_ += static_cast<uint64_t>(num_counters);
  return range;
}

void GeneratorImpl::manual_seed(uint64_t seed) {
  std::lock_guard lock(mutex_);
  seed_ = seed;
  offset_ = 0;
  if (twister_) *twister_ = MersenneTwister(seed);
}

uint64_t GeneratorImpl::seed() {
  const uint64_t fresh = seed_from_os();
  manual_seed(fresh);
  return fresh;
}

uint64_t GeneratorImpl::initial_seed() const {
  std::lock_guard lock(mutex_);
  return seed_;
}

uint64_t GeneratorImpl::offset() const {
  std::lock_guard lock(mutex_);
  TAEDA_CHECK(!twister_, "CPU Generator does not use offset");
  return offset_;
}

void GeneratorImpl::set_offset(uint64_t offset) {
  std::lock_guard lock(mutex_);
  TAEDA_CHECK(!twister_, "CPU Generator does not use offset");
  offset_ = offset;
}

GeneratorImpl::State GeneratorImpl::get_state() const {
  std::lock_guard lock(mutex_);
  if (twister_) return twister_->state();
  State state(kStateBytes);
  store_word(state.data(), seed_);
  store_word(state.data() + 8, offset_);
  return state;
}

void GeneratorImpl::set_state(Span<uint8_t> state) {
  std::lock_guard lock(mutex_);
  if (state.size() == MersenneTwister::kStateBytes && device_.is_cpu()) {
    auto twister = std::make_unique<MersenneTwister>(seed_);
    twister->set_state(state);
    seed_ = twister->seed();
    twister_ = std::move(twister);
    return;
  }
  TAEDA_CHECK(state.size() == kStateBytes, "RNG state is wrong size: got ", state.size(),
              " bytes, expected ", kStateBytes);
  twister_.reset();
  seed_ = load_word(state.data());
  offset_ = load_word(state.data() + 8);
}

IntrusivePtr<GeneratorImpl> GeneratorImpl::clone() const {
  auto copy = make_intrusive<GeneratorImpl>(device_);
  std::lock_guard lock(mutex_);
  copy->seed_ = seed_;
  copy->offset_ = offset_;
  copy->twister_ = twister_ ? std::make_unique<MersenneTwister>(*twister_) : nullptr;
  return copy;
}

Generator& default_cpu_generator() {
  // Never destroyed: threads may draw while the process exits. Its lock is held over a fork, so
  // that a child finds it free.
  static Generator& generator = *new Generator(Device(DeviceType::CPU), first_seed());
  static const int registered = pthread_atfork([] { generator.impl().mutex_.lock(); },
                                               [] { generator.impl().mutex_.unlock(); },
                                               [] { generator.impl().mutex_.unlock(); });
  (void)registered;
  return generator;
}

const Generator& cpu_generator_or_default(const Generator& generator) {
  if (!generator.defined()) return default_cpu_generator();
  TAEDA_CHECK(generator.device().is_cpu(), "Expected a 'cpu' device type for generator but found '",
              device_type_name(generator.device().type), "'");
  return generator;
}

}  // namespace taeda
