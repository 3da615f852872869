// Comparing elements that are read and written.
#include "taeda/inductor/input_writes.h"

#include <algorithm>

#include "taeda/inductor/units.h"
#include "taeda/inductor/write_kernel.h"

namespace taeda::inductor {

namespace {

Place replaced_in(symbolic::ExprPool& pool, const Place& place, const symbolic::Replacements& to) {
  Place made;
  for (const Expr* e : place) made.push_back(symbolic::substitute(pool, e, to));
  return made;
}

}  // namespace

InputWrites::InputWrites(const Program& program) : program_(program) {
  for (const Write& write : program.writes) {
    const Geometry& geometry = program.values[write.value].geometry;
    writes_[geometry.memory].geometry = &geometry;
  }
  if (writes_.empty()) return;
  for (const TensorValue& value : program.values)
    if (value.definition && !value.definition->value &&
        writes_.count(program.values[value.root].geometry.memory))
      in_memory_[value.definition->id] = &value;
}

const std::vector<int>& InputWrites::readers(const Unit& unit) const {
  static const std::vector<int> kNone;
  return unit.written < 0 ? kNone : writes_.at(unit.written).readers;
}

const InputWrites::State* InputWrites::write_to(const Read& read) const {
  const auto found = read.definition ? in_memory_.find(read.definition->id) : in_memory_.end();
  if (found == in_memory_.end()) return nullptr;
  return &writes_.at(program_.values[found->second->root].geometry.memory);
}

bool InputWrites::reads_at(const Unit& unit, const Place& at, const State& write,
                           const Expr* element) const {
  symbolic::ExprPool& pool = *program_.pool;
  symbolic::Replacements to_axes;
  for (size_t d = 0; d < at.size(); ++d) to_axes[own_variable(pool, d)] = at[d];
  return std::all_of(unit.reads.begin(), unit.reads.end(), [&](const Read& read) {
    if (write_to(read) != &write) return true;
    const TensorValue& seen = *in_memory_.at(read.definition->id);
    if (seen.fake.dtype() != program_.values[seen.root].fake.dtype()) return false;
    return element_index(pool, seen.geometry, replaced_in(pool, read.place, to_axes)) == element;
  });
}

bool InputWrites::can_join(const Unit& unit, const Place& at, int g, const Group& group,
                           const symbolic::Replacements& replaced) const {
  if (writes_.empty()) return true;
  symbolic::ExprPool& pool = *program_.pool;
  for (const Read& read : unit.reads) {
    const State* write = write_to(read);
    if (!write || write->group < 0) continue;
    // Loops over rows read in one pass what they write in another.
    if (write->group != g || group.has_rows || unit.reduction) return false;
    const auto writer =
        std::find_if(group.units.begin(), group.units.end(),
                     [&](const GroupUnit& member) { return member.unit == write->unit; });
    const Place place = replaced_in(pool, writer->at, replaced);
    if (!reads_at(unit, at, *write, element_index(pool, *write->geometry, place))) return false;
  }
  if (unit.written < 0) return true;
  const State& own = writes_.at(unit.written);
  const Expr* element = element_index(pool, *own.geometry, at);
  const bool is_read = std::count(own.readers.begin(), own.readers.end(), g) != 0;
  if (is_read && group.has_rows) return false;
  return reads_at(unit, at, own, element) &&
         std::all_of(group.units.begin(), group.units.end(), [&](const GroupUnit& member) {
           return reads_at(program_.units[member.unit], replaced_in(pool, member.at, replaced), own,
                           element);
         });
}

void InputWrites::note(int index, int g, const Group& group) {
  if (writes_.empty()) return;
  const Unit& unit = program_.units[index];
  const Place& at = group.units.back().at;
  bool is_misplaced = false;
  for (const Read& read : unit.reads) {
    const auto found = read.definition ? in_memory_.find(read.definition->id) : in_memory_.end();
    if (found == in_memory_.end()) continue;
    State& write = writes_.at(program_.values[found->second->root].geometry.memory);
    is_misplaced |= write.group >= 0 && write.group != g;
    if (write.readers.empty() || write.readers.back() != g) write.readers.push_back(g);
  }
  if (unit.written >= 0) {
    State& own = writes_.at(unit.written);
    own.group = g;
    own.unit = index;
    is_misplaced |= !reads_at(unit, at, own, element_index(*program_.pool, *own.geometry, at));
  }
  if (is_misplaced) misplaced_.push_back(index);
}

}  // namespace taeda::inductor
