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
  kernel::verify(k);
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
  for (const Expr* size : lift_sizes(k)) params_.push_back(program_of(size, symbols));
  key_ = kernel::dump(k);
  interpreter_ = std::make_unique<kernel::TileInterpreter>(k);
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

KernelLaunch KernelForm::launch(const int64_t* symbols) const {
  KernelLaunch made;
  for (const LoopInfo& loop : loops_) {
    const int64_t work = std::max<int64_t>(loop.work(symbols), 1);
    const int64_t grain = std::max<int64_t>(kGrainElements / work, 1);
    made.loops.push_back({loop.extent(symbols), loop.is_parallel ? grain : 0});
  }
  for (const IndexProgram& param : params_) made.params.push_back(param(symbols));
  return made;
}

bool KernelForm::run(bool may_be_native, char* const* buffers, const KernelLaunch& launch,
                     const RunNumber* numbers) const {
  const Native* native = this->native(may_be_native);
  int64_t error[2] = {0, 0};
  const int64_t* params = launch.params.data();
  const kernel::LaunchArguments arguments{buffers, params, numbers, error};
  for (size_t i = 0; i < loops_.size(); ++i) {
    const auto part = [&](int64_t begin, int64_t end) {
      if (native)
        native->functions[i](buffers, params, numbers, error, begin, end);
      else
        interpreter_->run(static_cast<int>(i), arguments, begin, end);
    };
    const auto [extent, grain] = launch.loops[i];
    if (grain == 0 || extent <= grain)
      part(0, extent);
    else
      parallel_for(0, extent, grain, part);
  }
  return error[0] == 0;
}

bool KernelForm::run_block(bool may_be_native, char* const* buffers, const int64_t* symbols,
                           const RunNumber* numbers) const {
  const Native* native = this->native(may_be_native);
  SmallVector<int64_t, 16> params;
  for (const IndexProgram& param : params_) params.push_back(param(symbols));
  int64_t error[2] = {0, 0};
  for (size_t i = 0; i < loops_.size(); ++i) {
    const int64_t extent = loops_[i].extent(symbols);
    if (native)
      native->functions[i](buffers, params.data(), numbers, error, 0, extent);
    else
      interpreter_->run(static_cast<int>(i), {buffers, params.data(), numbers, error}, 0, extent);
  }
  return error[0] == 0;
}

std::shared_ptr<KernelForm> KernelForms::of(kernel::Kernel kernel,
                                            const std::vector<const Expr*>& symbols) {
  std::shared_ptr<KernelForm>& form = made_[kernel::identity_of(kernel)];
  if (!form) form = std::make_shared<KernelForm>(std::move(kernel), symbols);
  return form;
}

}  // namespace taeda::inductor
