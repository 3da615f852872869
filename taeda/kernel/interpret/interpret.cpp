// Walks the loops of a kernel and runs their units by tiles.
#include "taeda/kernel/interpret/interpret.h"

#include <algorithm>
#include <cstring>

#include "taeda/base/error.h"
#include "taeda/kernel/interpret/loop.h"

namespace taeda::kernel {

TileInterpreter::TileInterpreter(const Kernel& kernel) {
  verify(kernel);
  for (const Step& step : kernel.steps) {
    const auto* loop = std::get_if<Loop>(&step);
    if (!loop) continue;
    PlanContext context{kernel, {}};
    auto made = std::make_unique<InterpretedLaunch>();
    for (const Expr* param : kernel.params) made->params.push_back(context.places.of(param));
    for (const Buffer& buffer : kernel.buffers)
      made->local_bytes.push_back(
          buffer.space == Space::Local
              ? context.places.program(
                    kernel.pool->mul(kernel.pool->integer(item_size(buffer.dtype)), buffer.numel))
              : IndexProgram());
    for (const Buffer& buffer : kernel.buffers)
      made->is_local.push_back(buffer.space == Space::Local);
    made->loop = std::make_unique<InterpretedLoop>(context, *loop, LoopPlace{});
    made->num_symbols = context.places.size();
    made->scratch_bytes = context.scratch_bytes;
    made->num_runs = context.bodies.size();
    made->private_locals = context.private_locals;
    for (int i = 0; i < kernel.values.size(); ++i)
      if (kernel.values.node(i).op == Op::State)
        made->num_states = std::max(made->num_states, kernel.values.node(i).index + 1);
    made->num_states += 8;  // results that nothing reads
    loops_.push_back(std::move(made));
  }
}

TileInterpreter::~TileInterpreter() = default;
TileInterpreter::TileInterpreter(TileInterpreter&&) noexcept = default;

void TileInterpreter::run(int number, const LaunchArguments& arguments, int64_t begin,
                          int64_t end) const {
  const InterpretedLaunch& launch = *loops_.at(number);
  Walk walk{arguments,
            std::vector<int64_t>(launch.num_symbols),
            {},
            make_line_bytes(16 * kMaxLines * launch.num_states),
            std::vector<char*>(launch.num_states),
            make_line_bytes(launch.scratch_bytes),
            {},
            {},
            {}};
  for (size_t i = 0; i < launch.params.size(); ++i)
    walk.symbols[launch.params[i]] = arguments.params[i];
  launch.place_buffers(walk);
  walk.runs.resize(launch.num_runs);
  launch.loop->prepare(walk);
  launch.loop->run(walk, begin, end);
}

// Local buffers follow each other in memory of the walk.
void InterpretedLaunch::place_buffers(Walk& walk) const {
  std::vector<size_t> offsets;
  size_t bytes = 0;
  for (size_t i = 0; i < is_local.size(); ++i) {
    offsets.push_back(bytes);
    if (!is_local[i]) continue;
    size_t size = static_cast<size_t>(local_bytes[i](walk.symbols.data()));
    if (private_locals.count(static_cast<int>(i))) size = std::max<size_t>(size, 16 * kBlock);
    bytes += (size + 127) / 64 * 64;
  }
  if (bytes > 0) walk.locals = make_line_bytes(bytes);
  for (size_t i = 0; i < is_local.size(); ++i)
    walk.buffers.push_back(is_local[i] ? walk.locals.get() + offsets[i]
                                       : walk.arguments.buffers[i]);
}

}  // namespace taeda::kernel
