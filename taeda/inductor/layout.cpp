// Values around convolutions.
#include "taeda/inductor/layout.h"

#include <vector>

#include "taeda/backends/cpu/convolution/plan_operator.h"
#include "taeda/ops/convolution/operators.h"
#include "taeda/ops/operators.h"

namespace taeda::inductor {

namespace {

// Strides of a dense value whose dimension 1 lies innermost.
Place channels_innermost(symbolic::ExprPool& pool, const Place& sizes) {
  Place strides(sizes.size(), pool.integer(1));
  const Expr* step = sizes[1];
  for (size_t d = sizes.size(); d-- > 2;) {
    strides[d] = step;
    step = pool.mul(step, sizes[d]);
  }
  strides[0] = step;
  return strides;
}

// In the run that was traced.
bool has_strides(const Geometry& g, const Place& strides) {
  for (size_t d = 0; d < strides.size(); ++d) {
    const Expr *have = g.strides[d], *want = strides[d];
    if (have == want) continue;
    if (!have->has_hint || !want->has_hint) return false;
    if (have->value.integer != want->value.integer) return false;
  }
  return true;
}

class LayoutChooser {
 public:
  explicit LayoutChooser(Program& program) : program_(program), is_known_(program.values.size()) {
    for (size_t i = 0; i < program.values.size(); ++i)
      if (program.values[i].root != static_cast<int>(i)) is_known_[program.values[i].root] = true;
    for (const Program::Result& result : program.results)
      if (result.value >= 0) is_known_[program.values[result.value].root] = true;
  }

  void run(bool lays_out_images) {
    for (const Call& call : program_.calls) {
      if (call.op != &ops::convolution) continue;
      const int image = call.arguments.at(0).tensor, filters = call.arguments.at(1).tensor;
      const bool is_transposed = call.arguments.at(6).constant.get<bool>();
      const Geometry& g = program_.values[filters].geometry;
      if (is_transposed || g.sizes.size() < 4) continue;
      const int result = call.results.at(0);
      const bool is_laid_out = has_strides(g, channels_innermost(*program_.pool, g.sizes));
      if (!is_laid_out && !(lays_out_images && is_gainful(image, result))) continue;
      lay_out(result);
      lay_out(image);
    }
  }

 private:
  // Whether the image can be written or copied for the library, once for all who read it, and the
  // result may lie as it comes.
  bool is_gainful(int image, int result) const {
    const TensorValue& value = program_.values[image];
    return value.geometry.sizes.size() == 4 && cpu::prefers_channels_last(value.fake.dtype()) &&
           is_free(image) && is_free(result);
  }
  bool is_free(int index) const {
    const TensorValue& value = program_.values[index];
    return !is_known_[index] && value.root == index && !value.is_apart && value.geometry.memory < 0;
  }
  void lay_out(int index) {
    Geometry& g = program_.values[index].geometry;
    if (is_free(index)) g.strides = channels_innermost(*program_.pool, g.sizes);
  }

  Program& program_;
  std::vector<bool> is_known_;  // by strides
};

}  // namespace

void choose_layouts(Program& program, bool lays_out_images) {
  LayoutChooser(program).run(lays_out_images);
}

}  // namespace taeda::inductor
