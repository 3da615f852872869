// Compares printed CUDA bodies with eager CPU tiles: one NVRTC program, one launch a body and type.
#include <cuda.h>
#include <nvrtc.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "taeda/backends/cpu/pointwise/pointwise.h"
#include "taeda/kernel/print.h"
#include "taeda/ops/symbolic.h"
#include "tests/kernel/body_samples.h"

using namespace taeda;

namespace {

void check(CUresult r, const char* what) {
  if (r == CUDA_SUCCESS) return;
  const char* text = nullptr;
  cuGetErrorString(r, &text);
  std::fprintf(stderr, "%s: %s\n", what, text ? text : "unknown error");
  std::exit(1);
}

struct Case {
  const SymbolicBody* body;
  kernel::Type type;
  std::string name;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const SymbolicBody* b : symbolic_bodies())
    for (int t = 0; t < 6; ++t)
      if (b->has(static_cast<kernel::Type>(t)))
        cases.push_back({b, static_cast<kernel::Type>(t), "body_" + std::to_string(cases.size())});
  return cases;
}

std::vector<char> compile(const std::vector<Case>& cases, double& seconds) {
  std::string text = kernel::cuda_prelude();
  for (const Case& c : cases) {
    kernel::ExprGraph graph;
    const kernel::TracedBody traced = c.body->trace(graph, c.type);
    text += kernel::print_cuda_tile(graph, traced, c.name);
  }
  const auto start = std::chrono::steady_clock::now();
  nvrtcProgram program;
  nvrtcCreateProgram(&program, text.c_str(), "bodies.cu", 0, nullptr, nullptr);
  CUdevice device;
  int major = 0, minor = 0;
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  const std::string arch = "--gpu-architecture=sm_" + std::to_string(major) + std::to_string(minor);
  const char* options[] = {arch.c_str(), "--std=c++17", "--fmad=false"};
  if (nvrtcCompileProgram(program, 3, options) != NVRTC_SUCCESS) {
    size_t size = 0;
    nvrtcGetProgramLogSize(program, &size);
    std::string log(size, 0);
    nvrtcGetProgramLog(program, log.data());
    std::fprintf(stderr, "%.8000s\n", log.c_str());
    std::exit(1);
  }
  size_t size = 0;
  nvrtcGetCUBINSize(program, &size);
  std::vector<char> binary(size);
  nvrtcGetCUBIN(program, binary.data());
  nvrtcDestroyProgram(&program);
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return binary;
}

// Number of differing elements.
int64_t compare(const Case& c, CUmodule module) {
  kernel::ExprGraph graph;
  const kernel::TracedBody traced = c.body->trace(graph, c.type);
  const kernel::Type out_type = graph.node(traced.root).type;
  const int64_t n = 65536 + 3;
  const size_t out_bytes = n * kernel::type_size(out_type);
  std::vector<std::vector<char>> inputs;
  std::vector<char> eager(out_bytes), device_result(out_bytes);
  std::vector<char*> ptrs{eager.data()};
  for (size_t i = 0; i < traced.input_types.size(); ++i)
    inputs.push_back(testing::body_samples(traced.input_types[i], n, static_cast<int>(i)));
  for (auto& in : inputs) ptrs.push_back(in.data());
  std::vector<char> uniforms = testing::uniform_samples(c.type, traced.num_uniforms);
  cpu::find_tile(c.body->name, static_cast<cpu::ComputeType>(c.type))(ptrs.data(), n,
                                                                      uniforms.data());

  CUfunction function;
  check(cuModuleGetFunction(&function, module, c.name.c_str()), c.name.c_str());
  std::vector<CUdeviceptr> memory(inputs.size() + 1);
  check(cuMemAlloc(&memory[0], out_bytes), "cuMemAlloc");
  for (size_t i = 0; i < inputs.size(); ++i) {
    check(cuMemAlloc(&memory[i + 1], inputs[i].size()), "cuMemAlloc");
    check(cuMemcpyHtoD(memory[i + 1], inputs[i].data(), inputs[i].size()), "cuMemcpyHtoD");
  }
  long long count = n;
  std::vector<void*> args;
  for (auto& m : memory) args.push_back(&m);
  args.push_back(&count);
  for (int u = 0; u < traced.num_uniforms; ++u)
    args.push_back(uniforms.data() + u * kernel::type_size(c.type));
  check(cuLaunchKernel(function, 256, 1, 1, 256, 1, 1, 0, nullptr, args.data(), nullptr),
        "cuLaunchKernel");
  check(cuMemcpyDtoH(device_result.data(), memory[0], out_bytes), "cuMemcpyDtoH");
  for (auto m : memory) cuMemFree(m);
  int64_t differing = 0;
  const int size = kernel::type_size(out_type);
  for (int64_t i = 0; i < n; ++i)
    differing += !testing::same_value(out_type, &eager[i * size], &device_result[i * size]);
  return differing;
}

}  // namespace

int main() {
  check(cuInit(0), "cuInit");
  CUdevice device;
  CUcontext context;
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  const std::vector<Case> cases = all_cases();
  double seconds = 0;
  const std::vector<char> binary = compile(cases, seconds);
  CUmodule module;
  check(cuModuleLoadData(&module, binary.data()), "cuModuleLoadData");
  int equal = 0;
  for (const Case& c : cases) {
    const int64_t differing = compare(c, module);
    if (differing == 0)
      ++equal;
    else
      std::printf("differs: %s %s, %ld of 65539 elements\n", c.body->name,
                  kernel::type_name(c.type), static_cast<long>(differing));
  }
  std::printf("%d of %zu printed bodies equal eager bit for bit; NVRTC took %.1f s\n", equal,
              cases.size(), seconds);
  return equal == static_cast<int>(cases.size()) ? 0 : 1;
}
