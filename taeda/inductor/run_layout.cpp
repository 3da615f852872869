// Numbers of a run.
#include "taeda/inductor/run_layout.h"

#include <algorithm>

#include "taeda/fx/bind.h"
#include "taeda/inductor/plan_parts.h"

namespace taeda::inductor {

namespace {

TensorShape evaluate(const ShapePrograms& shape, const TensorValue& value, const int64_t* symbols) {
  TensorShape made;
  made.memory = value.geometry.memory;
  made.dtype = value.fake.dtype();
  made.flags = value.fake.keys() & (KeySet(Key::Conjugate) | KeySet(Key::Negative));
  for (const IndexProgram& e : shape.sizes) made.sizes.push_back(e(symbols));
  for (const IndexProgram& e : shape.strides) made.strides.push_back(e(symbols));
  made.offset = shape.offset(symbols);
  return made;
}

Value number_argument(const CallArgument& given, const CompiledGraph::Parts& plan,
                      const int64_t* symbols) {
  if (given.number) return number_value(given.number, plan.call_numbers.at(given.number)(symbols));
  if (!given.is_list) return given.constant;
  auto list = std::make_shared<Value::List>();
  for (const CallArgument& item : given.list) list->push_back(number_argument(item, plan, symbols));
  return list;
}

// What views reach of the storages whose places they name.
std::vector<Reach> find_reaches(const std::vector<TensorValue>& values,
                                const std::vector<TensorShape>& shapes) {
  std::vector<Reach> reaches;
  for (size_t i = 0; i < values.size(); ++i) {
    const TensorShape& shape = shapes[i];
    if (values[i].root < 0 || !values[values[i].root].has_places) continue;
    if (std::find(shape.sizes.begin(), shape.sizes.end(), 0) != shape.sizes.end()) continue;
    int64_t last = shape.offset;
    for (size_t d = 0; d < shape.sizes.size(); ++d) last += (shape.sizes[d] - 1) * shape.strides[d];
    reaches.push_back({values[i].root, (last + 1) * item_size(shape.dtype)});
  }
  return reaches;
}

std::shared_ptr<const RunLayout> make_layout(const CompiledGraph::Parts& plan,
                                             const std::vector<int64_t>& values) {
  auto made = std::make_shared<RunLayout>();
  made->symbols = values;
  const int64_t* symbols = made->symbols.data();
  for (size_t i = 0; i < plan.shapes.size(); ++i)
    made->shapes.push_back(evaluate(plan.shapes[i], plan.program->values[i], symbols));
  for (const IndexProgram& numel : plan.numels)
    made->numels.push_back(std::max<int64_t>(numel(symbols), 0));
  made->reaches = find_reaches(plan.program->values, made->shapes);
  for (const IndexProgram& number : plan.numbers) made->numbers.push_back(number(symbols));
  std::vector<Lifetime> lifetimes = plan.lifetimes;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    const int memory = plan.temporaries[i];
    lifetimes[i].bytes = std::max<int64_t>(made->numels[memory], 1) *
                         item_size(plan.program->memories[memory].dtype);
  }
  made->arena = lay_out(lifetimes);
  for (const PlanStep& step : plan.steps) {
    step.for_each_kernel([&](const KernelStep& kernel) {
      made->has_empty_extent |= kernel.has_empty_extent(symbols);
    });
    // Kernels that finish blocks are launched by their product.
    made->launches.push_back(step.call ? KernelLaunch() : step.kernel->launch(symbols));
    auto& singles = made->singles.emplace_back();
    for (const auto* all : {&step.leading, &step.trailing})
      for (const auto& kernel : *all) singles.push_back(kernel->launch(symbols));
    auto& arguments = made->arguments.emplace_back();
    if (!step.call) continue;
    const std::vector<CallArgument>& given = step.call->call->arguments;
    for (size_t i = 0; i < given.size(); ++i)
      arguments.push_back(step.call->has_tensor[i]
                              ? Value()
                              : fx::coerce(number_argument(given[i], plan, symbols),
                                           step.call->schema->arguments[i].type));
  }
  return made;
}

}  // namespace

std::shared_ptr<const RunLayout> CompiledGraph::Parts::layout_of(
    const std::vector<int64_t>& symbols) {
  {
    const std::lock_guard lock(run_mutex);
    for (const auto& known : layouts)
      if (known->symbols == symbols) return known;
  }
  std::shared_ptr<const RunLayout> made = make_layout(*this, symbols);
  const std::lock_guard lock(run_mutex);
  if (layouts.size() == RunLayout::kMaxLayouts) layouts.erase(layouts.begin());
  layouts.push_back(made);
  return made;
}

}  // namespace taeda::inductor
