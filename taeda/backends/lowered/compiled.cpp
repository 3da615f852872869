// Making kernels in a device's dialect, and launching them.
#include "taeda/backends/lowered/compiled.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "taeda/base/str.h"
#include "taeda/kernel/ir/text.h"
#include "taeda/kernel/native/disk_cache.h"
#include "taeda/kernel/print.h"
#include "taeda/kernel/schedule/schedule.h"

namespace taeda::lowered {

namespace {

using kernel::Kernel;
using kernel::Loop;

// Made under its own lock, by the first that needs it; empty where that failed so far.
struct Place {
  std::mutex mutex;
  std::unique_ptr<CompiledKernel> kernel;
};
struct Kernels {
  std::mutex mutex;
  std::unordered_map<std::string, Place> by_key;  // places stay where they are
  std::atomic<int64_t> made = 0, from_disk = 0, launched = 0;
};
Kernels& kernels() {
  static Kernels* all = new Kernels;
  return *all;
}

// The binary of a source: from disk where it was made before.
std::string binary_of(const devices::Runtime& runtime, int device, const std::string& source) {
  kernel::DiskCache& cache = kernel::DiskCache::shared();
  const std::string key =
      str(runtime.api().name, "\n", runtime.properties(device).name, "\n", runtime.dialect(), "\n",
          runtime.api().compiler ? runtime.api().compiler : "", "\n", source);
  if (std::optional<std::string> kept = cache.find(key)) {
    ++kernels().from_disk;
    return std::move(*kept);
  }
  std::string binary = runtime.build(device, source.c_str());
  cache.store(key, binary);
  return binary;
}

void* make_function(const devices::Runtime& runtime, int device, const std::string& source,
                    const std::string& entry) {
  if (!runtime.has_binaries()) return runtime.compile(device, source.c_str(), entry.c_str());
  return runtime.load(device, binary_of(runtime, device, source), entry.c_str());
}

bool only_checks(const Loop& loop) {
  return std::all_of(loop.steps.begin(), loop.steps.end(), [](const kernel::Step& step) {
    if (const auto* inner = std::get_if<Loop>(&step)) return only_checks(*inner);
    return std::holds_alternative<kernel::Check>(step);
  });
}

kernel::IndexProgram program_of(const Kernel& kernel, const kernel::Expr* e) {
  return kernel::IndexProgram(e, [&](const kernel::Expr* symbol) {
    return static_cast<int>(std::find(kernel.params.begin(), kernel.params.end(), symbol) -
                            kernel.params.begin());
  });
}
Extents programs_of(const Kernel& kernel, const std::vector<const kernel::Expr*>& all) {
  Extents found;
  for (const kernel::Expr* e : all) found.push_back(program_of(kernel, e));
  return found;
}
int64_t product_of(const Extents& extents, const std::vector<int64_t>& params) {
  int64_t product = 1;
  for (const kernel::IndexProgram& extent : extents) product *= extent(params.data());
  return product;
}

// The text of a kernel in a dialect, and its stages but for their functions.
std::string printed(std::string_view dialect, Kernel& kernel, CompiledKernel& compiled) {
  std::vector<kernel::CudaStage> stages;
  std::string text;
  if (dialect == "cuda") {
    kernel::CudaKernel made = kernel::print_cuda_kernel(kernel);
    text = kernel::cuda_prelude() + made.text;
    stages = std::move(made.stages);
    compiled.is_cuda = true;
  } else {
    kernel::schedule_for_cpu(kernel);
    TAEDA_CHECK_NOT_IMPLEMENTED(dialect == "c++" || dialect == "ir",
                                "kernels cannot be written in the dialect '", dialect, "'");
    text = dialect == "ir" ? kernel::dump(kernel)
                           : kernel::cpu_prelude() + kernel::print_cpu_kernel(kernel);
  }
  for (const kernel::Step& step : kernel.steps) {
    const auto* loop = std::get_if<Loop>(&step);
    if (!loop) continue;
    Stage stage{nullptr, only_checks(*loop), {}};
    if (compiled.is_cuda) {
      const kernel::CudaStage& one = stages[compiled.stages.size()];
      stage.extent = programs_of(kernel, one.extents);
      stage.length = programs_of(kernel, one.length);
      stage.grid = one.shape;
      stage.state_bytes = one.state_bytes;
    } else {
      stage.extent = programs_of(kernel, {kernel::launch_extent(kernel, *loop)});
    }
    compiled.stages.push_back(std::move(stage));
  }
  return text;
}

// Elements of a row that one block of threads reduces where rows are few and long.
constexpr int64_t kPart = 16384;

// One loop that reduces, then stores.
bool can_split(const Kernel& kernel) {
  const auto& loop = std::get<Loop>(kernel.steps[0]);
  const auto* row = std::get_if<Loop>(&loop.steps[0]);
  return kernel.steps.size() == 1 && row && row->axes.size() == 1 &&
         row->axes[0].role == kernel::Role::Reduced &&
         std::all_of(loop.steps.begin() + 1, loop.steps.end(), [](const kernel::Step& step) {
           return std::holds_alternative<kernel::Store>(step);
         });
}

std::unique_ptr<CompiledKernel> make_kernel(const devices::Runtime& runtime, int device,
                                            bool has_parts, Kernel kernel) {
  auto compiled = std::make_unique<CompiledKernel>();
  const size_t given = kernel.buffers.size();
  if (has_parts && can_split(kernel)) kernel::split_reduction(kernel, 0, kPart);
  for (size_t i = given; i < kernel.buffers.size(); ++i)
    compiled->scratch.push_back(
        {program_of(kernel, kernel.buffers[i].numel), item_size(kernel.buffers[i].dtype)});
  const std::string source = printed(runtime.dialect(), kernel, *compiled);
  for (size_t i = 0; i < compiled->stages.size(); ++i)
    compiled->stages[i].function = make_function(runtime, device, source, str(kernel.name, "_", i));
  for (const kernel::Indirect& one : kernel.values.indirects())
    compiled->indexed.push_back(program_of(kernel, one.extent));
  compiled->has_stores = std::any_of(compiled->stages.begin(), compiled->stages.end(),
                                     [](const Stage& stage) { return !stage.is_check; });
  return compiled;
}

// Two words on the device that a bad index is written to, one pair per thread and device. They stay
// zero until an index is bad.
class ErrorWord {
 public:
  static ErrorWord& of(const devices::Runtime& runtime, int device) {
    thread_local std::map<std::pair<const devices::Runtime*, int>, ErrorWord> words;
    return words.try_emplace({&runtime, device}, runtime, device).first->second;
  }
  ErrorWord(const devices::Runtime& runtime, int device)
      : runtime_(runtime), device_(device), data_(runtime.alloc(device, kBytes)) {
    clear();
  }
  ~ErrorWord() { runtime_.api().free(runtime_.api().context, device_, data_, kBytes); }
  ErrorWord(const ErrorWord&) = delete;

  void* data() const { return data_; }
  void raise_with(const devices::RaiseCheck& raise) {
    int64_t words[2];
    runtime_.copy_to_host(device_, words, data_, kBytes);
    if (!words[0]) return;
    clear();
    TAEDA_INTERNAL_CHECK(raise, "a kernel has indices and no error for those out of range");
    raise(static_cast<int>(words[0]) - 1, words[1]);
  }

 private:
  static constexpr size_t kBytes = sizeof(int64_t[2]);
  void clear() {
    const int64_t zeros[2] = {0, 0};
    runtime_.copy_to_device(device_, data_, zeros, kBytes);
  }

  const devices::Runtime& runtime_;
  int device_;
  void* data_;
};

// Memory of one launch.
class ScratchMemory {
 public:
  ScratchMemory(const devices::Runtime& runtime, int device) : runtime_(runtime), device_(device) {}
  ~ScratchMemory() {
    for (const auto& [data, bytes] : blocks_)
      runtime_.api().free(runtime_.api().context, device_, data, bytes);
  }
  ScratchMemory(const ScratchMemory&) = delete;

  char* take(size_t bytes) {
    blocks_.emplace_back(runtime_.alloc(device_, bytes), bytes);
    return static_cast<char*>(blocks_.back().first);
  }

 private:
  const devices::Runtime& runtime_;
  int device_;
  std::vector<std::pair<void*, size_t>> blocks_;
};

// ---- CUDA ----
constexpr int64_t kThreads = 256;

int64_t power_of_two(int64_t n) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n, 1))));
}

TaedaLaunch grid_of(const Stage& stage, const std::vector<int64_t>& params) {
  const int64_t total = product_of(stage.extent, params);
  const auto blocks = [](int64_t work, int64_t per_block) {
    return static_cast<uint32_t>(std::min<int64_t>((work + per_block - 1) / per_block, 1 << 30));
  };
  if (stage.grid == kernel::GridShape::Elements)
    return {{blocks(total, 4 * kThreads), 1, 1}, {kThreads, 1, 1}, 0};
  const int64_t length = product_of(stage.length, params);
  int64_t lanes, slots;
  if (stage.grid == kernel::GridShape::Rows) {
    // Rows of a few elements share a warp, long ones have up to 512 lanes.
    lanes = length < 128 ? std::min<int64_t>(power_of_two(length), 32)
                         : std::clamp<int64_t>(power_of_two((length + 7) / 8), 32, 512);
    slots = std::max<int64_t>(1, kThreads / lanes);
    while (slots > 1 && slots / 2 >= total) slots /= 2;
    const auto x = static_cast<uint32_t>(lanes), y = static_cast<uint32_t>(slots);
    return {{blocks(total, slots), 1, 1},
            {x, y, 1},
            static_cast<uint32_t>(lanes * slots * stage.state_bytes)};
  }
  slots = 32;
  lanes = std::clamp<int64_t>(power_of_two((length + 15) / 16), 1, 16);
  return {{blocks(total, slots), 1, 1},
          {static_cast<uint32_t>(slots), static_cast<uint32_t>(lanes), 1},
          static_cast<uint32_t>(lanes * slots * stage.state_bytes)};
}

// The struct that CUDA functions take (print.h).
std::vector<char> argument_block(const Arguments& arguments, void* error) {
  std::vector<char> block;
  const auto add = [&](const void* data, size_t bytes) {
    const auto* from = static_cast<const char*>(data);
    block.insert(block.end(), from, from + bytes);
  };
  add(arguments.buffers.data(), arguments.buffers.size() * sizeof(char*));
  add(arguments.params.data(), arguments.params.size() * sizeof(int64_t));
  add(&error, sizeof(error));
  block.resize((block.size() + 15) / 16 * 16);
  const size_t slots = std::max<size_t>(arguments.numbers.size(), 1), start = block.size();
  add(arguments.numbers.data(), arguments.numbers.size() * 16);
  block.resize(start + slots * 16);
  return block;
}

void launch_stage(const devices::Runtime& runtime, int device, const CompiledKernel& compiled,
                  const Stage& stage, const Arguments& arguments, void* error) {
  if (compiled.is_cuda) {
    std::vector<char> block = argument_block(arguments, error);
    void* const given[] = {block.data()};
    return runtime.launch(device, stage.function, grid_of(stage, arguments.params), given);
  }
  int64_t begin = 0, end = product_of(stage.extent, arguments.params);
  void* const given[] = {const_cast<char**>(arguments.buffers.data()),
                         const_cast<int64_t*>(arguments.params.data()),
                         const_cast<std::array<char, 16>*>(arguments.numbers.data()),
                         &error,
                         &begin,
                         &end};
  runtime.launch(device, stage.function, TaedaLaunch{}, given);
}

// Whether every dimension that indices go along has a place for those that are refused.
bool has_places(const CompiledKernel& compiled, const std::vector<int64_t>& params) {
  return std::all_of(compiled.indexed.begin(), compiled.indexed.end(),
                     [&](const kernel::IndexProgram& extent) { return extent(params.data()) > 0; });
}

}  // namespace

bool are_few_and_long(int64_t rows, int64_t length) { return rows < 256 && length >= 2 * kPart; }

bool splits_rows(std::string_view dialect, int64_t rows, int64_t length) {
  return dialect == "cuda" && rows > 0 && are_few_and_long(rows, length);
}

const CompiledKernel& compiled_kernel(const devices::Runtime& runtime, int device,
                                      const std::string& key, bool has_parts,
                                      FunctionRef<Kernel()> make) {
  Kernels& all = kernels();
  const std::string full = str(static_cast<int>(runtime.type()), ":", device, ":", key);
  Place* place;
  {
    std::lock_guard lock(all.mutex);
    place = &all.by_key[full];
  }
  std::lock_guard lock(place->mutex);
  if (!place->kernel) {
    place->kernel = make_kernel(runtime, device, has_parts, make());
    ++all.made;
  }
  return *place->kernel;
}

void launch(const devices::Runtime& runtime, int device, const CompiledKernel& compiled,
            const Arguments& arguments, const devices::RaiseCheck& raise) {
  const bool is_deferred = runtime.defers_checks() && has_places(compiled, arguments.params);
  ErrorWord* error = nullptr;
  void* words = nullptr;
  if (!compiled.indexed.empty()) {
    if (is_deferred) {
      devices::DeferredChecks& checks = runtime.deferred_checks(device);
      words = raise ? checks.words_for(raise) : checks.unread_words();
    } else {
      if (runtime.defers_checks()) runtime.deferred_checks(device).settle();
      error = &ErrorWord::of(runtime, device);
      words = error->data();
    }
  }
  ScratchMemory memory(runtime, device);
  std::vector<char*> buffers = arguments.buffers;
  for (const Scratch& scratch : compiled.scratch)
    buffers.push_back(
        memory.take(static_cast<size_t>(scratch.numel(arguments.params.data()) * scratch.item)));
  const Arguments given{buffers, arguments.params, arguments.numbers};
  for (const Stage& stage : compiled.stages) {
    if (product_of(stage.extent, arguments.params) <= 0) continue;
    // Stages that store check again; a place that was refused is the first one to them.
    if (stage.is_check && is_deferred && compiled.has_stores) continue;
    launch_stage(runtime, device, compiled, stage, given, words);
    ++kernels().launched;
    if (stage.is_check && !is_deferred) error->raise_with(raise);
  }
}

KernelCounts kernel_counts() {
  const Kernels& all = kernels();
  return {all.made, all.from_disk, all.launched};
}

}  // namespace taeda::lowered
