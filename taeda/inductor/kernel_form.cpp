// Scheduling, launching and swapping kernels.
#include "taeda/inductor/kernel_form.h"

#include <algorithm>

#include "taeda/base/parallel.h"
#include "taeda/base/str.h"
#include "taeda/inductor/lift_sizes.h"
#include "taeda/kernel/ir/identity.h"
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

void add_written(const std::vector<kernel::Step>& steps, std::vector<int>& written) {
  for (const kernel::Step& step : steps)
    if (const auto* inner = std::get_if<kernel::Loop>(&step))
      add_written(inner->steps, written);
    else if (const auto* store = std::get_if<kernel::Store>(&step))
      if (std::find(written.begin(), written.end(), store->buffer) == written.end())
        written.push_back(store->buffer);
}

}  // namespace

KernelForm::KernelForm(kernel::Kernel kernel, const std::vector<const Expr*>& symbols)
    : kernel_(std::move(kernel)) {
  kernel::Kernel& k = kernel_;
  add_written(k.steps, written_);
  kernel::schedule_for_cpu(k);
  const size_t num_buffers = k.buffers.size();
  split_few_rows(k);
  for (size_t b = num_buffers; b < k.buffers.size(); ++b)
    scratch_.push_back({k.buffers[b].dtype, k.buffers[b].numel});
  text_ = kernel::dump(k);
  for (const kernel::Step& step : k.steps)
    if (const auto* loop = std::get_if<kernel::Loop>(&step))
      loops_.push_back({program_of(kernel::launch_extent(k, *loop), symbols),
                        program_of(work_of(*k.pool, *loop, kernel::num_launched(*loop)), symbols),
                        can_split(*loop)});
  for (const kernel::Indirect& indirect : k.values.indirects())
    if (indirect.extent->range.lo <= 0)
      index_extents_.push_back(program_of(indirect.extent, symbols));
  for (const Expr* size : lift_sizes(k)) params_.push_back(program_of(size, symbols));
  key_ = kernel::dump(k);
}

void KernelForm::make_interpreter() {
  if (!interpreter_) interpreter_ = std::make_unique<kernel::TileInterpreter>(kernel_);
}

bool KernelForm::has_one_element() const {
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

std::string KernelForm::source(const std::string& name) {
  kernel_.name = name;
  return kernel::print_cpu_kernel(kernel_);
}

void KernelForm::set_native(std::shared_ptr<kernel::NativeModule> module, const std::string& name) {
  if (is_native()) return;
  auto made = std::make_unique<Native>();
  for (size_t i = 0; i < loops_.size(); ++i)
    made->functions.push_back(module->function<NativeFn>(str(name, "_", i)));
  made->module = std::move(module);
  owned_ = std::move(made);
  native_.store(owned_.get(), std::memory_order_release);
}

KernelLaunch KernelForm::launch(const std::vector<std::shared_ptr<KernelForm>>& members,
                                const int64_t* symbols) {
  KernelLaunch made;
  const KernelForm& first = *members[0];
  const auto work_of_index = [&](const KernelForm& form, size_t loop) {
    return std::max<int64_t>(form.loops_[loop].work(symbols), 1);
  };
  for (size_t i = 0; i < first.loops_.size(); ++i) {
    const bool is_parallel = first.loops_[i].is_parallel;
    if (members.size() == 1) {
      const int64_t grain = std::max<int64_t>(kGrainElements / work_of_index(first, i), 1);
      made.loops.push_back({first.loops_[i].extent(symbols), is_parallel ? grain : 0});
      continue;
    }
    LoopRange range{0, is_parallel ? kJoinedGrainElements : 0};
    for (const std::shared_ptr<KernelForm>& member : members) {
      range.starts.push_back(range.extent);
      range.works.push_back(work_of_index(*member, i));
      range.extent += range.works.back() * member->loops_[i].extent(symbols);
    }
    made.loops.push_back(std::move(range));
  }
  for (const std::shared_ptr<KernelForm>& member : members) {
    auto& params = made.params.emplace_back();
    for (const IndexProgram& param : member->params_) params.push_back(param(symbols));
  }
  return made;
}

bool KernelForm::has_empty_extent(const int64_t* symbols) const {
  return std::any_of(index_extents_.begin(), index_extents_.end(),
                     [&](const IndexProgram& extent) { return extent(symbols) <= 0; });
}

void KernelForm::run_part(const Native* native, size_t loop,
                          const kernel::LaunchArguments& arguments, int64_t begin,
                          int64_t end) const {
  if (native)
    native->functions[loop](arguments.buffers, arguments.params, arguments.scalars, arguments.error,
                            begin, end);
  else
    interpreter_->run(static_cast<int>(loop), arguments, begin, end);
}

bool KernelForm::run(bool may_be_native, char* const* buffers, size_t num_buffers,
                     const KernelLaunch& launch, const RunNumber* numbers) const {
  const Native* native = this->native(may_be_native);
  int64_t error[2] = {0, 0};
  const auto arguments = [&](size_t member) {
    return kernel::LaunchArguments{buffers + member * num_buffers, launch.params[member].data(),
                                   numbers, error};
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

bool KernelForm::run_block(bool may_be_native, char* const* buffers, const int64_t* symbols,
                           const RunNumber* numbers) const {
  const Native* native = this->native(may_be_native);
  SmallVector<int64_t, 16> params;
  for (const IndexProgram& param : params_) params.push_back(param(symbols));
  int64_t error[2] = {0, 0};
  for (size_t i = 0; i < loops_.size(); ++i)
    run_part(native, i, {buffers, params.data(), numbers, error}, 0, loops_[i].extent(symbols));
  return error[0] == 0;
}

std::shared_ptr<KernelForm> KernelForms::of(kernel::Kernel kernel,
                                            const std::vector<const Expr*>& symbols) {
  std::shared_ptr<KernelForm>& form = made_[kernel::identity_of(kernel)];
  if (!form) form = std::make_shared<KernelForm>(std::move(kernel), symbols);
  return form;
}

}  // namespace taeda::inductor
