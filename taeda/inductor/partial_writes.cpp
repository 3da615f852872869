// Finding results of calls that may lie in the memory of an input.
#include "taeda/inductor/partial_writes.h"

#include <algorithm>

#include "taeda/ops/gather_scatter/operators.h"
#include "taeda/ops/index_slices/operators.h"
#include "taeda/ops/indexing/operators.h"
#include "taeda/ops/operators.h"

namespace taeda::inductor {

namespace {

const PartialWriter* find_writer(const dispatch::Operator& op) {
  using dispatch::Value;
  static const auto* const all = new std::vector<PartialWriter>{
      {&ops::index_put,
       &ops::index_put_,
       &ops::index_Tensor,
       &ops::index_put_,
       2,
       {},
       {Value(false)}},
      {&ops::index_copy, &ops::index_copy_, &ops::index_select, &ops::index_copy_, 3},
      {&ops::scatter_src, &ops::scatter__src, &ops::gather, &ops::scatter__src, 3, {Value(false)}},
      {&ops::scatter_value,
       &ops::scatter__value,
       &ops::gather,
       &ops::scatter__src,
       3,
       {Value(false)}},
  };
  const auto found =
      std::find_if(all->begin(), all->end(), [&](const auto& one) { return one.op == &op; });
  return found == all->end() ? nullptr : &*found;
}

class PartFinder {
 public:
  explicit PartFinder(Program& program) : program_(program) {}

  void run() {
    std::erase_if(program_.writes, [this](const Write& write) { return place(write); });
  }

 private:
  const TensorValue& value(int index) const { return program_.values[index]; }

  bool reads(const std::vector<CallArgument>& arguments, int root) const {
    return std::any_of(arguments.begin(), arguments.end(), [&](const CallArgument& a) {
      return (a.tensor >= 0 && value(a.tensor).root == root) || reads(a.list, root);
    });
  }

  bool is_result(int root) const {
    return std::any_of(program_.results.begin(), program_.results.end(), [&](const auto& result) {
      return result.value >= 0 && value(result.value).root == root;
    });
  }

  static bool lie_alike(const Geometry& a, const Geometry& b) {
    return a.sizes == b.sizes && a.strides == b.strides && a.offset == b.offset &&
           a.offset->is_constant(0);
  }

  // Whether the write is the call's now.
  bool place(const Write& write) {
    const auto call = std::ranges::find_if(program_.calls, [&](const Call& one) {
      return one.results.size() == 1 && one.results[0] == write.from;
    });
    if (call == program_.calls.end() || call->in_place) return false;
    const PartialWriter* writer = find_writer(*call->op);
    const int input = program_.inputs[static_cast<size_t>(write.input)].value;
    if (!writer || call->arguments.at(0).tensor != input) return false;
    const TensorValue &old = value(input), &made = value(write.from);
    const bool is_read_otherwise =
        old.root != input || made.root != write.from || old.num_uses != 2 || is_result(input) ||
        is_result(write.from) || program_.memories[old.geometry.memory].is_frozen ||
        reads({call->arguments.begin() + 1, call->arguments.end()}, input);
    if (is_read_otherwise || old.fake.dtype() != made.fake.dtype() || made.fake.is_conj() ||
        made.fake.is_neg() || !lie_alike(old.geometry, made.geometry))
      return false;
    call->in_place = writer;
    program_.values[write.from].geometry = old.geometry;
    program_.values[write.value].is_kept = false;
    program_.partial_writes.push_back(write);
    program_.partial_writes.back().value = input;
    return true;
  }

  Program& program_;
};

}  // namespace

void write_parts_in_place(Program& program) { PartFinder(program).run(); }

}  // namespace taeda::inductor
