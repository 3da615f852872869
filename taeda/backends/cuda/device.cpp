// NVIDIA GPUs behind the device seam: memory and launches by the driver, kernels by NVRTC.
//
// A plug-in (libtaeda_cuda.so): the library itself needs no CUDA. Operators come from the kernel IR
// (backends/lowered); products, sorts and whatever else has no lowering run on the CPU so far.
#include <cuda.h>
#include <nvrtc.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "taeda/backends/device_api.h"

namespace {

thread_local std::string message;
thread_local int current = 0;

TaedaStatus status_of(CUresult result) {
  if (result == CUDA_SUCCESS) return nullptr;
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  message = std::string(name ? name : "unknown error") + ": " + (text ? text : "no text");
  return message.c_str();
}
TaedaStatus status_of(nvrtcResult result) {
  if (result == NVRTC_SUCCESS) return nullptr;
  message = nvrtcGetErrorString(result);
  return message.c_str();
}

// A call whose error ends the function.
#define TRY(call) \
  if (TaedaStatus status = status_of(call)) return status

// The primary context of each device, which PyTorch and others share.
struct Devices {
  int count = 0;
  std::vector<CUcontext> contexts;
  std::vector<std::string> architectures;
  std::mutex mutex;
  std::map<std::string, CUmodule> modules;  // by binary: stages of one kernel share theirs

  TaedaStatus start() {
    TRY(cuInit(0));
    TRY(cuDeviceGetCount(&count));
    for (int i = 0; i < count; ++i) {
      CUdevice device;
      CUcontext context;
      int major = 0, minor = 0;
      TRY(cuDeviceGet(&device, i));
      TRY(cuDevicePrimaryCtxRetain(&context, device));
      TRY(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
      TRY(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
      TRY(cuCtxSetCurrent(context));
      // Freed memory stays with the pool instead of going back at every synchronization.
      CUmemoryPool pool;
      cuuint64_t keep = ~cuuint64_t{0};
      TRY(cuDeviceGetDefaultMemPool(&pool, device));
      TRY(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
      contexts.push_back(context);
      architectures.push_back("--gpu-architecture=sm_" + std::to_string(major) +
                              std::to_string(minor));
    }
    return nullptr;
  }
};
Devices& devices() {
  static Devices* all = new Devices;
  return *all;
}

TaedaStatus enter(int32_t device) {
  if (device < 0 || device >= devices().count) return "no such device";
  // Others in the process change the thread's context too.
  CUcontext now = nullptr;
  TRY(cuCtxGetCurrent(&now));
  if (now == devices().contexts[device]) return nullptr;
  return status_of(cuCtxSetCurrent(devices().contexts[device]));
}
#define ENTER(device) \
  if (TaedaStatus status = enter(device)) return status

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }
CUstream stream_of(void* stream) { return static_cast<CUstream>(stream); }

// ---- memory ----
TaedaStatus alloc(void*, int32_t device, size_t bytes, void** pointer) {
  ENTER(device);
  CUdeviceptr made = 0;
  TRY(cuMemAllocAsync(&made, bytes, nullptr));
  *pointer = reinterpret_cast<void*>(made);
  return nullptr;
}
TaedaStatus release(void*, int32_t device, void* pointer, size_t) {
  ENTER(device);
  return status_of(cuMemFreeAsync(address(pointer), nullptr));
}
TaedaStatus copy_to_device(void*, int32_t device, void* dst, const void* src, size_t bytes,
                           void* stream) {
  ENTER(device);
  if (stream) return status_of(cuMemcpyHtoDAsync(address(dst), src, bytes, stream_of(stream)));
  TRY(cuMemcpyHtoD(address(dst), src, bytes));
  return status_of(cuStreamSynchronize(nullptr));
}
TaedaStatus copy_to_host(void*, int32_t device, void* dst, const void* src, size_t bytes,
                         void* stream) {
  ENTER(device);
  if (stream) return status_of(cuMemcpyDtoHAsync(dst, address(src), bytes, stream_of(stream)));
  return status_of(cuMemcpyDtoH(dst, address(src), bytes));
}
TaedaStatus copy_on_device(void*, int32_t dst_device, void* dst, int32_t src_device,
                           const void* src, size_t bytes, void* stream) {
  ENTER(src_device);
  if (dst_device == src_device)
    return status_of(cuMemcpyDtoDAsync(address(dst), address(src), bytes, stream_of(stream)));
  return status_of(cuMemcpyPeerAsync(address(dst), devices().contexts[dst_device], address(src),
                                     devices().contexts[src_device], bytes, stream_of(stream)));
}
TaedaStatus set_memory(void*, int32_t device, void* dst, int value, size_t bytes, void* stream) {
  ENTER(device);
  return status_of(
      cuMemsetD8Async(address(dst), static_cast<unsigned char>(value), bytes, stream_of(stream)));
}
TaedaStatus memory_info(void*, int32_t device, uint64_t* free_bytes, uint64_t* total_bytes) {
  ENTER(device);
  size_t free = 0, total = 0;
  TRY(cuMemGetInfo(&free, &total));
  *free_bytes = free;
  *total_bytes = total;
  return nullptr;
}

// ---- devices ----
TaedaStatus device_count(void*, int32_t* count) {
  *count = devices().count;
  return nullptr;
}
TaedaStatus current_device(void*, int32_t* device) {
  *device = current;
  return nullptr;
}
TaedaStatus set_device(void*, int32_t device) {
  ENTER(device);
  current = device;
  return nullptr;
}
TaedaStatus properties(void*, int32_t index, TaedaDeviceProperties* out) {
  CUdevice device;
  TRY(cuDeviceGet(&device, index));
  TRY(cuDeviceGetName(out->name, sizeof(out->name), device));
  size_t bytes = 0;
  TRY(cuDeviceTotalMem(&bytes, device));
  out->total_memory = bytes;
  const auto attribute = [&](CUdevice_attribute what) {
    int value = 0;
    cuDeviceGetAttribute(&value, what, device);
    return static_cast<uint32_t>(value);
  };
  out->compute_units = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  out->max_threads = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  out->warp_size = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  out->has_unified_memory = 0;
  return nullptr;
}
TaedaStatus synchronize(void*, int32_t device) {
  ENTER(device);
  return status_of(cuCtxSynchronize());
}

// ---- streams and events ----
TaedaStatus stream_create(void*, int32_t device, int32_t priority, void** stream) {
  ENTER(device);
  CUstream made;
  TRY(cuStreamCreateWithPriority(&made, CU_STREAM_NON_BLOCKING, priority));
  *stream = made;
  return nullptr;
}
TaedaStatus stream_destroy(void*, int32_t device, void* stream) {
  ENTER(device);
  return status_of(cuStreamDestroy(stream_of(stream)));
}
TaedaStatus stream_synchronize(void*, int32_t device, void* stream) {
  ENTER(device);
  return status_of(cuStreamSynchronize(stream_of(stream)));
}
TaedaStatus event_create(void*, int32_t device, void** event) {
  ENTER(device);
  CUevent made;
  TRY(cuEventCreate(&made, CU_EVENT_DEFAULT));
  *event = made;
  return nullptr;
}
TaedaStatus event_destroy(void*, int32_t device, void* event) {
  ENTER(device);
  return status_of(cuEventDestroy(static_cast<CUevent>(event)));
}
TaedaStatus event_record(void*, int32_t device, void* event, void* stream) {
  ENTER(device);
  return status_of(cuEventRecord(static_cast<CUevent>(event), stream_of(stream)));
}
TaedaStatus event_wait(void*, int32_t device, void* event, void* stream) {
  ENTER(device);
  if (!stream) return status_of(cuEventSynchronize(static_cast<CUevent>(event)));
  return status_of(cuStreamWaitEvent(stream_of(stream), static_cast<CUevent>(event), 0));
}
TaedaStatus event_elapsed(void*, int32_t device, void* start, void* end, double* milliseconds) {
  ENTER(device);
  float ms = 0;
  TRY(cuEventSynchronize(static_cast<CUevent>(end)));
  TRY(cuEventElapsedTime(&ms, static_cast<CUevent>(start), static_cast<CUevent>(end)));
  *milliseconds = ms;
  return nullptr;
}

// ---- generated code ----
TaedaStatus build(void*, int32_t device, const char*, const char* source,
                  void (*give)(void* to, const void* bytes, size_t size), void* to) {
  ENTER(device);
  nvrtcProgram program;
  TRY(nvrtcCreateProgram(&program, source, "kernel.cu", 0, nullptr, nullptr));
  const char* options[] = {devices().architectures[device].c_str(), "--std=c++17", "--fmad=false"};
  const nvrtcResult result = nvrtcCompileProgram(program, 3, options);
  if (result != NVRTC_SUCCESS) {
    size_t size = 0;
    nvrtcGetProgramLogSize(program, &size);
    std::string log(size, 0);
    nvrtcGetProgramLog(program, log.data());
    nvrtcDestroyProgram(&program);
    message = std::string(nvrtcGetErrorString(result)) + "\n" + log.substr(0, 4000);
    return message.c_str();
  }
  size_t size = 0;
  TRY(nvrtcGetCUBINSize(program, &size));
  std::vector<char> binary(size);
  TRY(nvrtcGetCUBIN(program, binary.data()));
  nvrtcDestroyProgram(&program);
  give(to, binary.data(), binary.size());
  return nullptr;
}

// What binaries depend on beside their source.
const char* compiler() {
  static const std::string text = [] {
    int major = 0, minor = 0;
    nvrtcVersion(&major, &minor);
    return "nvrtc " + std::to_string(major) + "." + std::to_string(minor) + " --fmad=false";
  }();
  return text.c_str();
}

TaedaStatus load(void*, int32_t device, const void* bytes, size_t size, const char* entry,
                 void** kernel) {
  ENTER(device);
  Devices& all = devices();
  std::lock_guard lock(all.mutex);
  std::string key = std::to_string(device) + ":";
  key.append(static_cast<const char*>(bytes), size);
  CUmodule& module = all.modules[key];
  if (!module) TRY(cuModuleLoadData(&module, bytes));
  CUfunction function;
  TRY(cuModuleGetFunction(&function, module, entry));
  *kernel = function;
  return nullptr;
}

TaedaStatus compile(void* context, int32_t device, const char* dialect, const char* source,
                    const char* entry, void** kernel) {
  std::string binary;
  const auto give = [](void* to, const void* bytes, size_t size) {
    static_cast<std::string*>(to)->assign(static_cast<const char*>(bytes), size);
  };
  if (TaedaStatus status = build(context, device, dialect, source, give, &binary)) return status;
  return load(context, device, binary.data(), binary.size(), entry, kernel);
}

TaedaStatus launch(void*, int32_t device, void* kernel, const TaedaLaunch* shape, void** arguments,
                   uint32_t, void* stream) {
  ENTER(device);
  return status_of(cuLaunchKernel(static_cast<CUfunction>(kernel), shape->grid[0], shape->grid[1],
                                  shape->grid[2], shape->block[0], shape->block[1], shape->block[2],
                                  shape->shared_bytes, stream_of(stream), arguments, nullptr));
}

TaedaDeviceApi make_api() {
  TaedaDeviceApi a{};
  a.version = TAEDA_DEVICE_API_VERSION;
  a.size = sizeof(TaedaDeviceApi);
  a.name = "cuda";
  a.slot = 0;
  a.alloc = &alloc;
  a.free = &release;
  a.copy_to_device = &copy_to_device;
  a.copy_to_host = &copy_to_host;
  a.copy_on_device = &copy_on_device;
  a.set_memory = &set_memory;
  a.memory_info = &memory_info;
  a.device_count = &device_count;
  a.current_device = &current_device;
  a.set_device = &set_device;
  a.properties = &properties;
  a.synchronize = &synchronize;
  a.stream_create = &stream_create;
  a.stream_destroy = &stream_destroy;
  a.stream_synchronize = &stream_synchronize;
  a.event_create = &event_create;
  a.event_destroy = &event_destroy;
  a.event_record = &event_record;
  a.event_wait = &event_wait;
  a.event_elapsed = &event_elapsed;
  a.compile = &compile;
  a.launch = &launch;
  a.dialect = "cuda";
  a.build = &build;
  a.load = &load;
  a.compiler = compiler();
  a.defers_checks = 1;
  return a;
}

}  // namespace

// NULL where there is no driver or no GPU.
extern "C" __attribute__((visibility("default"))) const TaedaDeviceApi* taeda_device_init(
    const TaedaHost* host) {
  if (host->version != TAEDA_DEVICE_API_VERSION) return nullptr;
  static const std::string problem = [] {
    const TaedaStatus status = devices().start();
    return std::string(status ? status : "");
  }();
  if (!problem.empty() || devices().count == 0) {
    if (!problem.empty()) host->warn(problem.c_str());
    return nullptr;
  }
  static const TaedaDeviceApi api = make_api();
  return &api;
}
