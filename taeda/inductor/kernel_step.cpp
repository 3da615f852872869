// Launching kernels.
#include "taeda/inductor/kernel_step.h"

#include <algorithm>

#include "taeda/base/parallel.h"
#include "taeda/base/str.h"
#include "taeda/inductor/lift_sizes.h"
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
// The same of joined kernels, whose members come from all over the memory.
constexpr int64_t kJoinedGrainElements = 2 * kGrainElements;

// Elements that one index of the axes before `first_axis` stands for.
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

// Elements that are reduced as one block, where several threads reduce one row.
constexpr int64_t kBlockElements = 8 * 4096;
constexpr int64_t kFewRows = 4;

// Few rows that are not known to be short are cut into blocks for all threads.
void split_few_rows(kernel::Kernel& k) {
  const bool has_locals = std::any_of(k.buffers.begin(), k.buffers.end(), [](const auto& buffer) {
    return buffer.space != kernel::Space::Global;
  });
  if (has_locals) return;
  auto* loop = k.steps.size() == 1 ? std::get_if<kernel::Loop>(&k.steps[0]) : nullptr;
  const auto* inner = loop ? std::get_if<kernel::Loop>(&loop->steps[0]) : nullptr;
  if (!inner || inner->axes.size() != 1 || inner->axes[0].role != kernel::Role::Reduced) return;
  const Expr* rows = k.pool->integer(1);
  for (const kernel::Axis& axis : loop->axes) rows = k.pool->mul(rows, axis.extent);
  if (!rows->is_constant() || rows->value.integer > kFewRows) return;
  if (inner->axes[0].extent->range.hi < 2 * kBlockElements) return;
  const bool are_whole =
      std::all_of(inner->steps.begin(), inner->steps.end(), [](const kernel::Step& step) {
        const auto* reduce = std::get_if<kernel::Reduce>(&step);
        return reduce && reduce->part == kernel::Part::Whole;
      });
  if (are_whole) kernel::split_reduction(k, 0, kBlockElements);
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

KernelStep::KernelStep(GroupKernel made, const std::vector<const Expr*>& symbols,
                       AddMemory add_memory)
    : kernel_(std::move(made.kernel)), memories_(std::move(made.memories)) {
  kernel::Kernel& k = kernel_;
  add_written(k.steps, memories_, written_);
  kernel::schedule_for_cpu(k);
  const size_t num_buffers = k.buffers.size();
  split_few_rows(k);
  for (size_t b = num_buffers; b < k.buffers.size(); ++b)
    memories_.push_back(add_memory(k.buffers[b].dtype, k.buffers[b].numel));
  text_ = kernel::dump(k);
  Member& own = members_.emplace_back();
  for (const kernel::Step& step : k.steps)
    if (const auto* loop = std::get_if<kernel::Loop>(&step)) {
      own.loops.push_back(
          {program_of(kernel::launch_extent(k, *loop), symbols),
           program_of(work_of(*k.pool, *loop, kernel::num_launched(*loop)), symbols)});
      is_parallel_.push_back(can_split(*loop));
    }
  for (const Expr* size : lift_sizes(k)) own.params.push_back(program_of(size, symbols));
  key_ = kernel::dump(k);
}

void KernelStep::join(KernelStep&& other) {
  TAEDA_INTERNAL_CHECK(key_ == other.key_, "kernels that differ are joined");
  std::move(other.members_.begin(), other.members_.end(), std::back_inserter(members_));
  memories_.insert(memories_.end(), other.memories_.begin(), other.memories_.end());
  written_.insert(written_.end(), other.written_.begin(), other.written_.end());
}

void KernelStep::make_interpreter() {
  interpreter_ = std::make_unique<kernel::TileInterpreter>(kernel_);
}

bool KernelStep::has_one_element() const {
  return std::all_of(kernel_.steps.begin(), kernel_.steps.end(), [](const kernel::Step& step) {
    const auto* loop = std::get_if<kernel::Loop>(&step);
    if (!loop) return true;
    const bool is_single =
        std::all_of(loop->axes.begin(), loop->axes.end(),
                    [](const kernel::Axis& axis) { return axis.extent->is_constant(1); });
    return is_single && std::none_of(loop->steps.begin(), loop->steps.end(), [](const auto& inner) {
             return std::holds_alternative<kernel::Loop>(inner);
           });
  });
}

std::string KernelStep::source(const std::string& name) {
  kernel_.name = name;
  return kernel::print_cpu_kernel(kernel_);
}

void KernelStep::set_native(std::shared_ptr<kernel::NativeModule> module, const std::string& name) {
  auto made = std::make_unique<Native>();
  for (size_t i = 0; i < is_parallel_.size(); ++i)
    made->functions.push_back(module->function<NativeFn>(str(name, "_", i)));
  made->module = std::move(module);
  owned_ = std::move(made);
  native_.store(owned_.get(), std::memory_order_release);
}

LoopRange KernelStep::range_of(size_t loop, const int64_t* symbols) const {
  const auto work_of_member = [&](const Member& member) {
    return std::max<int64_t>(member.loops[loop].work(symbols), 1);
  };
  const bool is_parallel = is_parallel_[loop];
  if (members_.size() == 1) {
    const int64_t grain = std::max<int64_t>(kGrainElements / work_of_member(members_[0]), 1);
    return {members_[0].loops[loop].extent(symbols), is_parallel ? grain : 0};
  }
  LoopRange range{0, is_parallel ? kJoinedGrainElements : 0};
  for (const Member& member : members_) {
    range.starts.push_back(range.extent);
    range.works.push_back(work_of_member(member));
    range.extent += range.works.back() * member.loops[loop].extent(symbols);
  }
  return range;
}

KernelLaunch KernelStep::launch(const int64_t* symbols) const {
  KernelLaunch made;
  for (size_t i = 0; i < is_parallel_.size(); ++i) made.loops.push_back(range_of(i, symbols));
  for (const Member& member : members_) {
    auto& params = made.params.emplace_back();
    for (const IndexProgram& param : member.params) params.push_back(param(symbols));
  }
  return made;
}

bool KernelStep::run(char* const* memories, const KernelLaunch& launch,
                     const RunNumber* numbers) const {
  return run_form(native_.load(std::memory_order_acquire), memories, launch, numbers);
}

bool KernelStep::run_as(bool is_native, char* const* memories, const KernelLaunch& launch,
                        const RunNumber* numbers) const {
  return run_form(is_native ? native_.load(std::memory_order_acquire) : nullptr, memories, launch,
                  numbers);
}

bool KernelStep::run_block(bool may_be_native, char* const* memories, const int64_t* symbols,
                           const RunNumber* numbers, void* to) const {
  const Native* native = may_be_native ? native_.load(std::memory_order_acquire) : nullptr;
  SmallVector<char*, 16> buffers;
  for (int memory : memories_)
    buffers.push_back(to && memory == written_[0] ? static_cast<char*>(to) : memories[memory]);
  SmallVector<int64_t, 16> params;
  const Member& own = members_[0];
  for (const IndexProgram& param : own.params) params.push_back(param(symbols));
  int64_t error[2] = {0, 0};
  for (size_t i = 0; i < own.loops.size(); ++i)
    run_part(native, i, {buffers.data(), params.data(), numbers, error}, 0,
             own.loops[i].extent(symbols));
  return error[0] == 0;
}

void KernelStep::run_part(const Native* native, size_t loop,
                          const kernel::LaunchArguments& arguments, int64_t begin,
                          int64_t end) const {
  if (native)
    native->functions[loop](arguments.buffers, arguments.params, arguments.scalars, arguments.error,
                            begin, end);
  else
    interpreter_->run(static_cast<int>(loop), arguments, begin, end);
}

bool KernelStep::run_form(const Native* native, char* const* memories, const KernelLaunch& launch,
                          const RunNumber* numbers) const {
  SmallVector<char*, 16> buffers;
  for (int memory : memories_) buffers.push_back(memories[memory]);
  const size_t num_buffers = memories_.size() / members_.size();
  int64_t error[2] = {0, 0};
  const auto arguments = [&](size_t member) {
    return kernel::LaunchArguments{buffers.data() + member * num_buffers,
                                   launch.params[member].data(), numbers, error};
  };
  for (size_t i = 0; i < launch.loops.size(); ++i) {
    const LoopRange& range = launch.loops[i];
    const auto part = [&](int64_t begin, int64_t end) {
      if (range.starts.empty()) return run_part(native, i, arguments(0), begin, end);
      const auto after = std::upper_bound(range.starts.begin(), range.starts.end(), begin);
      for (size_t m = static_cast<size_t>(after - range.starts.begin()) - 1; begin < end; ++m) {
        const bool is_last = m + 1 == range.starts.size();
        const int64_t start = range.starts[m], work = range.works[m];
        const int64_t stop = std::min(end, is_last ? range.extent : range.starts[m + 1]);
        // An index belongs to the part that has its first element.
        const int64_t first = (begin - start + work - 1) / work;
        const int64_t last = (stop - start + work - 1) / work;
        if (first < last) run_part(native, i, arguments(m), first, last);
        begin = stop;
      }
    };
    if (range.grain == 0 || range.extent <= range.grain)
      part(0, range.extent);
    else
      parallel_for(0, range.extent, range.grain, part);
  }
  return error[0] == 0;
}

}  // namespace taeda::inductor
