// Launching kernels.
#include "taeda/inductor/kernel_step.h"

#include <algorithm>

#include "taeda/base/parallel.h"
#include "taeda/base/str.h"
#include "taeda/kernel/ir/text.h"
#include "taeda/kernel/print.h"
#include "taeda/kernel/schedule/schedule.h"

namespace taeda::inductor {

IndexProgram program_of(const Expr* e, const std::vector<const Expr*>& symbols) {
  return IndexProgram(e, [&](const Expr* symbol) {
    const auto found = std::find(symbols.begin(), symbols.end(), symbol);
    TAEDA_INTERNAL_CHECK(found != symbols.end(), "a size depends on ", symbolic::text_of(symbol));
    return static_cast<int>(found - symbols.begin());
  });
}

namespace {

// Elements that a thread is worth.
constexpr int64_t kGrainElements = 32768;

// Elements that one index of the first axis stands for.
const Expr* work_of(symbolic::ExprPool& pool, const kernel::Loop& loop, size_t first_axis) {
  const Expr* axes = pool.integer(1);
  for (size_t i = first_axis; i < loop.axes.size(); ++i) {
    const auto symbols = symbolic::symbols_of(loop.axes[i].extent);
    const bool is_plain = std::none_of(symbols.begin(), symbols.end(), [&](const Expr* s) {
      return s->name[0] == 'i' || s->name[0] == 'o';
    });
    if (is_plain) axes = pool.mul(axes, loop.axes[i].extent);
  }
  const Expr* steps = pool.integer(0);
  for (const kernel::Step& step : loop.steps)
    if (const auto* inner = std::get_if<kernel::Loop>(&step))
      steps = pool.add(steps, work_of(pool, *inner, 0));
    else
      steps = pool.add(steps, pool.integer(1));
  return pool.mul(axes, steps);
}

// Iterations of a kept axis own what they write, unless elements collide.
bool can_split(const kernel::Loop& loop) {
  return loop.axes[0].role == kernel::Role::Kept && loop.axes[0].binding != kernel::Binding::Serial;
}

void add_written(const std::vector<kernel::Step>& steps, const std::vector<int>& memories,
                 std::vector<int>& written) {
  for (const kernel::Step& step : steps) {
    if (const auto* inner = std::get_if<kernel::Loop>(&step)) {
      add_written(inner->steps, memories, written);
    } else if (const auto* store = std::get_if<kernel::Store>(&step)) {
      // Buffers behind those of the program are local ones.
      if (static_cast<size_t>(store->buffer) >= memories.size()) continue;
      const int memory = memories[store->buffer];
      if (std::find(written.begin(), written.end(), memory) == written.end())
        written.push_back(memory);
    }
  }
}

}  // namespace

KernelStep::KernelStep(GroupKernel made, const std::vector<const Expr*>& symbols)
    : kernel_(std::move(made.kernel)), memories_(std::move(made.memories)) {
  kernel::Kernel& k = kernel_;
  add_written(k.steps, memories_, written_);
  kernel::schedule_for_cpu(k);
  text_ = kernel::dump(k);
  for (const kernel::Step& step : k.steps)
    if (const auto* loop = std::get_if<kernel::Loop>(&step))
      loops_.push_back({program_of(loop->axes[0].extent, symbols),
                        program_of(work_of(*k.pool, *loop, 1), symbols), can_split(*loop)});
  interpreter_ = std::make_unique<kernel::TileInterpreter>(k);
}

std::string KernelStep::source(const std::string& name) {
  kernel_.name = name;
  return kernel::print_cpu_kernel(kernel_);
}

void KernelStep::set_native(std::shared_ptr<kernel::NativeModule> module, const std::string& name) {
  auto made = std::make_unique<Native>();
  for (size_t i = 0; i < loops_.size(); ++i)
    made->functions.push_back(module->function<NativeFn>(str(name, "_", i)));
  made->module = std::move(module);
  owned_ = std::move(made);
  native_.store(owned_.get(), std::memory_order_release);
}

std::vector<LoopRange> KernelStep::ranges(const int64_t* symbols) const {
  std::vector<LoopRange> all;
  for (const LoopInfo& loop : loops_) {
    const int64_t work = std::max<int64_t>(loop.work(symbols), 1);
    const int64_t grain = std::max<int64_t>(kGrainElements / work, 1);
    all.push_back({loop.extent(symbols), loop.is_parallel ? grain : 0});
  }
  return all;
}

bool KernelStep::run(char* const* memories, const int64_t* symbols, const LoopRange* ranges) const {
  return run_form(native_.load(std::memory_order_acquire), memories, symbols, ranges);
}

bool KernelStep::run_as(bool is_native, char* const* memories, const int64_t* symbols,
                        const LoopRange* ranges) const {
  return run_form(is_native ? native_.load(std::memory_order_acquire) : nullptr, memories, symbols,
                  ranges);
}

bool KernelStep::run_form(const Native* native, char* const* memories, const int64_t* symbols,
                          const LoopRange* ranges) const {
  SmallVector<char*, 16> buffers;
  for (int memory : memories_) buffers.push_back(memories[memory]);
  int64_t error[2] = {0, 0};
  const kernel::LaunchArguments arguments{buffers.data(), symbols, nullptr, error};
  for (size_t i = 0; i < loops_.size(); ++i) {
    const auto part = [&](int64_t begin, int64_t end) {
      if (native)
        native->functions[i](buffers.data(), symbols, nullptr, error, begin, end);
      else
        interpreter_->run(static_cast<int>(i), arguments, begin, end);
    };
    const auto [extent, grain] = ranges[i];
    if (grain == 0 || extent <= grain)
      part(0, extent);
    else
      parallel_for(0, extent, grain, part);
  }
  return error[0] == 0;
}

}  // namespace taeda::inductor
