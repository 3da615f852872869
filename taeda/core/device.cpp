// Device names and the default device.
#include "taeda/core/device.h"

#include <iterator>
#include <mutex>

namespace taeda {
namespace {

// Types that are names alone, from DeviceType::IPU on.
constexpr const char* kBareNames[] = {"ipu",  "xpu",  "mkldnn", "opengl", "ideep", "hip", "ve",
                                      "fpga", "maia", "xla",    "vulkan", "mps",   "hpu", "mtia"};
constexpr int kFirstBare = static_cast<int>(DeviceType::IPU);
static_assert(kFirstBare + std::size(kBareNames) == static_cast<int>(DeviceType::MTIA) + 1);

std::mutex names_mutex;
std::string& name_slot(DeviceType t) {
  static std::string names[kNumDeviceTypes] = {
      "cpu", "cuda", "meta", "opencl", "lazy", "privateuseone", "privateusetwo", "privateusethree"};
  return names[static_cast<int>(t)];
}
thread_local Device default_device_;

}  // namespace

std::string device_type_name(DeviceType t) {
  if (!has_backend(t)) return kBareNames[static_cast<int>(t) - kFirstBare];
  std::lock_guard lock(names_mutex);
  return name_slot(t);
}

void rename_device_type(DeviceType t, std::string name) {
  TAEDA_CHECK(t >= DeviceType::PrivateUse1 && has_backend(t),
              "only PrivateUse device types can be renamed, got ", device_type_name(t));
  std::lock_guard lock(names_mutex);
  name_slot(t) = std::move(name);
}

Device Device::parse(std::string_view text) {
  TAEDA_CHECK(!text.empty(), "Device string must not be empty");
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  int index = -1;
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    TAEDA_CHECK(!digits.empty() && digits.size() <= 3 &&
                    digits.find_first_not_of("0123456789") == digits.npos &&
                    (digits.size() == 1 || digits[0] != '0'),
                "Invalid device string: '", text, "'");
    index = std::stoi(std::string(digits));
    TAEDA_CHECK(index <= 127, "Invalid device string: '", text, "': index must be at most 127");
  }
  std::string known;
  for (int i = 0; i < kNumDeviceTypes; ++i) {
    const auto type = static_cast<DeviceType>(i);
    const std::string candidate = device_type_name(type);
    if (candidate == name) return Device(type, static_cast<int8_t>(index));
    known += (i ? ", " : "") + candidate;
  }
  for (size_t i = 0; i < std::size(kBareNames); ++i) {
    if (kBareNames[i] == name)
      return Device(static_cast<DeviceType>(kFirstBare + static_cast<int>(i)),
                    static_cast<int8_t>(index));
    known += taeda::str(", ", kBareNames[i]);
  }
  if (name.empty()) fail(ErrorKind::Runtime, "Invalid device string: '", text, "'");
  fail(ErrorKind::Runtime, "Expected one of ", known,
       " device type at start of device string: ", text);
}

std::string Device::text() const {
  std::string out = device_type_name(type);
  if (index >= 0) out += ":" + std::to_string(index);
  return out;
}

Device default_device() { return default_device_; }
void set_default_device(Device d) { default_device_ = d; }

std::string_view layout_name(Layout l) {
  constexpr std::string_view names[] = {"strided",    "sparse_coo", "sparse_csr", "sparse_csc",
                                        "sparse_bsr", "sparse_bsc", "jagged"};
  return names[static_cast<int>(l)];
}

std::string_view memory_format_name(MemoryFormat m) {
  constexpr std::string_view names[] = {"contiguous_format", "preserve_format", "channels_last",
                                        "channels_last_3d"};
  return names[static_cast<int>(m)];
}

}  // namespace taeda
