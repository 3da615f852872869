// Launches: keys, arguments, and the kernels that were made so far.
#include "taeda/backends/lowered/launch.h"

#include <cctype>
#include <cstring>

#include "taeda/backends/device_registry.h"
#include "taeda/backends/lowered/compiled.h"
#include "taeda/base/str.h"

namespace taeda::lowered {

namespace {

using kernel::Expr;

// Sizes and strides that a kernel knows; the others are its parameters.
bool is_known_extent(int64_t extent) { return extent == 1; }
bool is_known_stride(int64_t stride) { return stride == 0 || stride == 1; }

// Memory whose elements can be read sixteen bytes at a time.
constexpr int kAlignment = 16;
bool is_aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % kAlignment == 0; }

template <class T>
std::array<char, 16> slot_of_number(T value) {
  std::array<char, 16> slot{};
  std::memcpy(slot.data(), &value, sizeof(value));
  return slot;
}

std::array<char, 16> number_slot(const Scalar& value, Type type) {
  switch (type) {
    case Type::F32: return slot_of_number(value.to<float>());
    case Type::F64: return slot_of_number(value.to<double>());
    case Type::I64: return slot_of_number(value.to<int64_t>());
    case Type::U64: return slot_of_number(value.to<uint64_t>());
    case Type::C64: return slot_of_number(value.to<Complex<float>>());
    case Type::C128: return slot_of_number(value.to<Complex<double>>());
    case Type::I32: return slot_of_number(static_cast<int32_t>(value.to<int64_t>()));
    default: return slot_of_number(static_cast<char>(!value.equals(0)));
  }
}

}  // namespace

Launch::Launch(std::string_view name, Device device) : device_(device), name_(name) {
  fact(name);
  for (char& c : name_)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
}

void Launch::fact(int64_t value) {
  key_.append(reinterpret_cast<const char*>(&value), sizeof(value));
}
void Launch::fact(std::string_view text) {
  fact(static_cast<int64_t>(text.size()));
  key_ += text;
}

int Launch::axis(int64_t extent) {
  TAEDA_INTERNAL_CHECK(operands_.empty(), "axes of a launch come before its operands");
  fact(is_known_extent(extent));
  extents_.push_back(extent);
  return static_cast<int>(extents_.size()) - 1;
}

std::vector<int> Launch::axes(IntList extents) {
  std::vector<int> made;
  for (int64_t extent : extents) made.push_back(axis(extent));
  return made;
}

int Launch::operand(const Tensor& t, IntList strides, uint64_t indexed) {
  TAEDA_CHECK(t.device() == device_,
              "Expected all tensors to be on the same device, but found at least two devices, ",
              device_, " and ", t.device(), "!");
  TAEDA_INTERNAL_CHECK(strides.size() == extents_.size(), name_);
  IntVec used(strides);
  for (size_t d = 0; d < used.size(); ++d)
    if (extents_[d] == 1 && !(indexed >> d & 1)) used[d] = 0;
  for (size_t i = 0; i < operands_.size(); ++i) {
    const Operand& other = operands_[i];
    if (other.data != t.data() || other.dtype != t.dtype() || other.strides != used) continue;
    fact(-1 - static_cast<int64_t>(i));
    return static_cast<int>(i);
  }
  fact(static_cast<int64_t>(t.dtype()));
  fact(is_aligned(t.data()));
  for (int64_t stride : used) fact(is_known_stride(stride) ? stride : 2);
  operands_.push_back({t.dtype(), t.data(), std::move(used)});
  return static_cast<int>(operands_.size()) - 1;
}

int Launch::number(const Scalar& value, Type type) {
  fact(static_cast<int64_t>(type));
  number_types_.push_back(type);
  numbers_.push_back(number_slot(value, type));
  return static_cast<int>(numbers_.size()) - 1;
}

int Launch::param(int64_t value) {
  fact(int64_t{3});
  own_params_.push_back(value);
  return static_cast<int>(own_params_.size()) - 1;
}

Sym Launch::uniform(KernelBuilder& k, int number) const {
  return k.uniform(number, number_types_[number]);
}

const Expr* Launch::param(KernelBuilder&, int number) const { return own_symbols_[number]; }

kernel::Kernel Launch::build_kernel(FunctionRef<void(KernelBuilder&)> build) const {
  KernelBuilder k("k_" + name_, type_);
  for (size_t d = 0; d < extents_.size(); ++d)
    k.axis(is_known_extent(extents_[d]) ? k.integer(extents_[d]) : k.param(str("n", d)));
  for (size_t i = 0; i < operands_.size(); ++i) {
    std::vector<const Expr*> strides;
    for (size_t d = 0; d < extents_.size(); ++d) {
      const int64_t stride = operands_[i].strides[d];
      strides.push_back(is_known_stride(stride) ? k.integer(stride) : k.param(str("s", i, "_", d)));
    }
    k.operand(operands_[i].dtype, std::move(strides),
              is_aligned(operands_[i].data) ? kAlignment : 0);
  }
  own_symbols_.clear();
  for (size_t i = 0; i < own_params_.size(); ++i) own_symbols_.push_back(k.param(str("p", i)));
  build(k);
  return k.finish();
}

// The values of the parameters in the order of build_kernel.
std::vector<int64_t> Launch::param_values() const {
  std::vector<int64_t> values;
  for (int64_t extent : extents_)
    if (!is_known_extent(extent)) values.push_back(extent);
  for (const Operand& operand : operands_)
    for (int64_t stride : operand.strides)
      if (!is_known_stride(stride)) values.push_back(stride);
  values.insert(values.end(), own_params_.begin(), own_params_.end());
  return values;
}

void Launch::run(FunctionRef<void(KernelBuilder&)> build) {
  const devices::Runtime& runtime = devices::runtime_of(device_.type);
  const int index = device_.index >= 0 ? device_.index() : runtime.current_device();
  const bool has_parts = splits_rows(runtime.dialect(), rows_, length_);
  fact(has_parts);
  // How many of each there are, so that no two lists of facts read as one.
  fact(static_cast<int64_t>(extents_.size()));
  fact(static_cast<int64_t>(operands_.size()));
  const CompiledKernel& compiled =
      compiled_kernel(runtime, index, key_, has_parts, [&] { return build_kernel(build); });
  std::vector<char*> buffers;
  for (const Operand& operand : operands_) buffers.push_back(static_cast<char*>(operand.data));
  const std::vector<int64_t> params = param_values();
  launch(runtime, index, compiled, {buffers, params, numbers_}, raise_);
}

}  // namespace taeda::lowered
