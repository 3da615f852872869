// Making kernels in a device's dialect, and launching them.
#include "taeda/backends/lowered/compiled.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "taeda/base/str.h"
#include "taeda/kernel/interpret/index_program.h"
#include "taeda/kernel/ir/text.h"
#include "taeda/kernel/print.h"
#include "taeda/kernel/schedule/schedule.h"

namespace taeda::lowered {

namespace {

using kernel::Kernel;
using kernel::Loop;

struct Kernels {
  std::mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<CompiledKernel>> by_key;
  std::atomic<int64_t> made = 0, from_disk = 0, launched = 0;
};
Kernels& kernels() {
  static Kernels* all = new Kernels;
  return *all;
}

// The text of a scheduled kernel in a dialect.
std::string source_of(std::string_view dialect, const Kernel& kernel) {
  if (dialect == "ir") return kernel::dump(kernel);
  if (dialect == "c++") return kernel::cpu_prelude() + kernel::print_cpu_kernel(kernel);
  fail(ErrorKind::NotImplemented, "kernels cannot be written in the dialect '", dialect, "'");
}

void* make_function(const devices::Runtime& runtime, int device, const std::string& source,
                    const std::string& entry) {
  if (!runtime.has_binaries()) return runtime.compile(device, source.c_str(), entry.c_str());
  return runtime.load(device, runtime.build(device, source.c_str()), entry.c_str());
}

bool only_checks(const Loop& loop) {
  return std::all_of(loop.steps.begin(), loop.steps.end(), [](const kernel::Step& step) {
    if (const auto* inner = std::get_if<Loop>(&step)) return only_checks(*inner);
    return std::holds_alternative<kernel::Check>(step);
  });
}

std::unique_ptr<CompiledKernel> make_kernel(const devices::Runtime& runtime, int device,
                                            Kernel kernel) {
  auto compiled = std::make_unique<CompiledKernel>();
  kernel::schedule_for_cpu(kernel);
  const std::string source = source_of(runtime.dialect(), kernel);
  for (const kernel::Step& step : kernel.steps) {
    const auto* loop = std::get_if<Loop>(&step);
    if (!loop) continue;
    const std::string entry = str(kernel.name, "_", compiled->stages.size());
    compiled->stages.push_back(
        {make_function(runtime, device, source, entry), loop->axes[0].extent, only_checks(*loop)});
  }
  compiled->has_checks = !kernel.values.indirects().empty();
  compiled->kernel = std::move(kernel);
  return compiled;
}

int64_t extent_of(const CompiledKernel& compiled, const kernel::Expr* extent,
                  const std::vector<int64_t>& params) {
  const std::vector<const kernel::Expr*>& symbols = compiled.kernel.params;
  const kernel::IndexProgram program(extent, [&](const kernel::Expr* symbol) {
    return static_cast<int>(std::find(symbols.begin(), symbols.end(), symbol) - symbols.begin());
  });
  return program(params.data());
}

// Two words on the device that a bad index is written to.
class ErrorWord {
 public:
  ErrorWord(const devices::Runtime& runtime, int device)
      : runtime_(runtime), device_(device), data_(runtime.alloc(device, sizeof(words_))) {
    runtime_.copy_to_device(device_, data_, words_, sizeof(words_));
  }
  ~ErrorWord() { runtime_.api().free(runtime_.api().context, device_, data_, sizeof(words_)); }
  ErrorWord(const ErrorWord&) = delete;

  void* data() const { return data_; }
  BadIndex read() {
    runtime_.copy_to_host(device_, words_, data_, sizeof(words_));
    return {static_cast<int>(words_[0]), words_[1]};
  }

 private:
  const devices::Runtime& runtime_;
  int device_;
  int64_t words_[2] = {0, 0};
  void* data_;
};

}  // namespace

const CompiledKernel& compiled_kernel(const devices::Runtime& runtime, int device,
                                      const std::string& key, FunctionRef<Kernel()> make) {
  Kernels& all = kernels();
  const std::string full =
      str(static_cast<int>(runtime.type()), ":", device, ":", runtime.dialect(), ":", key);
  std::lock_guard lock(all.mutex);
  std::unique_ptr<CompiledKernel>& place = all.by_key[full];
  if (!place) {
    place = make_kernel(runtime, device, make());
    ++all.made;
  }
  return *place;
}

BadIndex launch(const devices::Runtime& runtime, int device, const CompiledKernel& compiled,
                const Arguments& arguments) {
  std::optional<ErrorWord> error;
  if (compiled.has_checks) error.emplace(runtime, device);
  void* error_data = error ? error->data() : nullptr;
  for (const Stage& stage : compiled.stages) {
    int64_t begin = 0, end = extent_of(compiled, stage.extent, arguments.params);
    if (end <= 0) continue;
    void* const given[] = {const_cast<char**>(arguments.buffers.data()),
                           const_cast<int64_t*>(arguments.params.data()),
                           const_cast<std::array<char, 16>*>(arguments.numbers.data()),
                           &error_data,
                           &begin,
                           &end};
    runtime.launch(device, stage.function, stage.shape, given);
    ++kernels().launched;
    if (!stage.is_check) continue;
    if (const BadIndex bad = error->read(); bad.check) return bad;
  }
  return error ? error->read() : BadIndex{};
}

KernelCounts kernel_counts() {
  const Kernels& all = kernels();
  return {all.made, all.from_disk, all.launched};
}

}  // namespace taeda::lowered
