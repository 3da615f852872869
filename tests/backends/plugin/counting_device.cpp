// A device plug-in for tests: counts its calls and keeps its memory where the host cannot read it.
#include <sys/mman.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "taeda/backends/device_api.h"
#include "taeda/backends/device_kernels.h"
#include "taeda/dispatch/library.h"
#include "taeda/ops/operators.h"
#include "taeda/ops/spec.h"

namespace {

using taeda::DType;
using taeda::Scalar;
using taeda::Tensor;

// Device addresses lie in pages without access: a host read through one ends the process.
struct Memory {
  static constexpr size_t kReserved = size_t{1} << 36;
  struct Block {
    size_t bytes;
    int device;
    std::unique_ptr<char[]> data;
  };

  std::mutex mutex;
  char* base = static_cast<char*>(
      ::mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  size_t next = 4096;
  std::map<char*, Block> blocks;
  std::map<std::string, int64_t> calls;

  void* alloc(int device, size_t bytes) {
    std::lock_guard lock(mutex);
    if (next + bytes + 4096 > kReserved) return nullptr;
    char* address = base + next;
    next += (bytes + 8191) / 4096 * 4096;
    blocks.emplace(address, Block{bytes, device, std::make_unique<char[]>(bytes)});
    std::memset(blocks.at(address).data.get(), 0xcd, bytes);
    return address;
  }
  // The memory behind a device address, if `bytes` from there belong to one block.
  char* at(const void* address, size_t bytes) {
    std::lock_guard lock(mutex);
    char* p = const_cast<char*>(static_cast<const char*>(address));
    auto it = blocks.upper_bound(p);
    if (it == blocks.begin()) return nullptr;
    --it;
    const size_t offset = static_cast<size_t>(p - it->first);
    return offset + bytes <= it->second.bytes ? it->second.data.get() + offset : nullptr;
  }
  void count(const char* name) {
    std::lock_guard lock(mutex);
    ++calls[name];
  }
};

Memory& memory() {
  static Memory* m = new Memory;
  return *m;
}

constexpr int kDevices = 2;
thread_local int current = 0;

TaedaStatus alloc(void*, int32_t device, size_t bytes, void** pointer) {
  memory().count("alloc");
  if (device < 0 || device >= kDevices) return "no such device";
  *pointer = memory().alloc(device, bytes);
  return *pointer ? nullptr : "address space used up";
}
TaedaStatus release(void*, int32_t, void* pointer, size_t) {
  memory().count("free");
  std::lock_guard lock(memory().mutex);
  return memory().blocks.erase(static_cast<char*>(pointer)) ? nullptr
                                                            : "not a block of this device";
}
TaedaStatus copy_to_device(void*, int32_t, void* dst, const void* src, size_t bytes, void*) {
  memory().count("copy_to_device");
  char* to = memory().at(dst, bytes);
  if (!to) return "destination is outside any block";
  std::memcpy(to, src, bytes);
  return nullptr;
}
TaedaStatus copy_to_host(void*, int32_t, void* dst, const void* src, size_t bytes, void*) {
  memory().count("copy_to_host");
  const char* from = memory().at(src, bytes);
  if (!from) return "source is outside any block";
  std::memcpy(dst, from, bytes);
  return nullptr;
}
TaedaStatus copy_on_device(void*, int32_t, void* dst, int32_t, const void* src, size_t bytes,
                           void*) {
  memory().count("copy_on_device");
  char* to = memory().at(dst, bytes);
  const char* from = memory().at(src, bytes);
  if (!to || !from) return "outside any block";
  std::memmove(to, from, bytes);
  return nullptr;
}
TaedaStatus set_memory(void*, int32_t, void* dst, int value, size_t bytes, void*) {
  memory().count("set_memory");
  char* to = memory().at(dst, bytes);
  if (!to) return "outside any block";
  std::memset(to, value, bytes);
  return nullptr;
}
TaedaStatus device_count(void*, int32_t* count) {
  *count = kDevices;
  return nullptr;
}
TaedaStatus current_device(void*, int32_t* device) {
  *device = current;
  return nullptr;
}
TaedaStatus set_device(void*, int32_t device) {
  current = device;
  return nullptr;
}
TaedaStatus synchronize(void*, int32_t) {
  memory().count("synchronize");
  return nullptr;
}

// ---- kernels ----
bool is_plain(const Tensor& t) {
  return t.device().type == taeda::DeviceType::PrivateUse1 && t.dtype() == DType::Float &&
         t.is_contiguous();
}
float* floats(const Tensor& t) {
  return reinterpret_cast<float*>(memory().at(t.data(), static_cast<size_t>(t.nbytes())));
}

Tensor& add_out(const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  if (!is_plain(self) || !is_plain(other) || !is_plain(out) || self.sizes() != other.sizes() ||
      self.sizes() != out.sizes()) {
    taeda::devices::fall_back(taeda::ops::add_out, self, other, alpha, out);
    return out;
  }
  memory().count("add.out");
  const float *a = floats(self), *b = floats(other), s = alpha.to<float>();
  float* c = floats(out);
  for (int64_t i = 0; i < out.numel(); ++i) c[i] = a[i] + s * b[i];
  return out;
}

Tensor& mm_out(const Tensor& self, const Tensor& mat2, Tensor& out) {
  const bool is_strided =
      self.device().type == out.device().type && mat2.device().type == out.device().type;
  const std::vector<int64_t> sizes{self.size(0), mat2.size(1)};
  if (!is_strided || self.dtype() != DType::Float || !is_plain(out) ||
      out.sizes() != taeda::IntList(sizes)) {
    taeda::devices::fall_back(taeda::ops::mm_out, self, mat2, out);
    return out;
  }
  memory().count("mm.out");
  float* c = floats(out);
  const auto element = [](const Tensor& t, int64_t i, int64_t j) {
    return *reinterpret_cast<float*>(
        memory().at(static_cast<char*>(t.data()) + (i * t.stride(0) + j * t.stride(1)) * 4, 4));
  };
  for (int64_t i = 0; i < sizes[0]; ++i)
    for (int64_t j = 0; j < sizes[1]; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < self.size(1); ++k) sum += element(self, i, k) * element(mat2, k, j);
      c[i * sizes[1] + j] = sum;
    }
  return out;
}

TAEDA_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("add.out", &add_out);
  m.impl("mm.out", &mm_out);
}

TaedaDeviceApi make_api() {
  TaedaDeviceApi a{};
  a.version = TAEDA_DEVICE_API_VERSION;
  a.size = sizeof(TaedaDeviceApi);
  a.name = "counting";
  a.slot = 1;
  a.alloc = &alloc;
  a.free = &release;
  a.copy_to_device = &copy_to_device;
  a.copy_to_host = &copy_to_host;
  a.copy_on_device = &copy_on_device;
  a.set_memory = &set_memory;
  a.device_count = &device_count;
  a.current_device = &current_device;
  a.set_device = &set_device;
  a.synchronize = &synchronize;
  return a;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT const TaedaDeviceApi* taeda_device_init(const TaedaHost* host) {
  static const TaedaDeviceApi api = make_api();
  return host->version == TAEDA_DEVICE_API_VERSION ? &api : nullptr;
}

// How often a function of the device ran.
EXPORT int64_t counting_device_calls(const char* name) {
  std::lock_guard lock(memory().mutex);
  const auto it = memory().calls.find(name);
  return it == memory().calls.end() ? 0 : it->second;
}

// Blocks that are allocated and not yet freed.
EXPORT int64_t counting_device_blocks() {
  std::lock_guard lock(memory().mutex);
  return static_cast<int64_t>(memory().blocks.size());
}
