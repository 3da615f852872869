// Sorting units into groups.
#include "taeda/inductor/fuse.h"

#include <algorithm>
#include <map>

#include "taeda/inductor/domain.h"
#include "taeda/inductor/input_writes.h"
#include "taeda/inductor/units.h"

namespace taeda::inductor {

namespace {

// Of a group. What works on a kernel looks at all values that each store needs, so its time grows
// with the square of the stores; and a system's compiler is no faster than that.
constexpr size_t kMaxUnits = 64;

uint64_t rows_of(const Unit& unit) { return unit.reduction ? unit.reduction->dims : 0; }

class Fuser {
 public:
  explicit Fuser(const Program& program)
      : program_(program),
        group_of_(program.units.size(), -1),
        place_in_group_(program.units.size()),
        writes_(program) {}

  Fused run() {
    for (size_t i = 0; i < program_.units.size(); ++i) place(static_cast<int>(i));
    for (Group& group : groups_) order_passes(group);
    std::stable_sort(groups_.begin(), groups_.end(),
                     [](const Group& a, const Group& b) { return a.time < b.time; });
    return {std::move(groups_), writes_.misplaced()};
  }

 private:
  // The unit that a read depends on; -1 for what is there from the start.
  int source(const Read& read) const {
    return read.reduction ? program_.unit_of_reduction[read.reduction->id]
                          : program_.unit_of_definition[read.definition->id];
  }
  // Groups that a unit depends on, the newest first.
  std::vector<int> sources(const Unit& unit) const {
    std::vector<int> found;
    const auto add = [&](int u) {
      if (u >= 0) found.push_back(group_of_[u]);
    };
    for (const Read& read : unit.reads) add(source(read));
    if (unit.call) add_call_sources(unit.call->arguments, add);
    const auto add_draw = [&](int call) {
      if (call >= 0) add(unit_of_call(program_.calls[static_cast<size_t>(call)]));
    };
    if (unit.call && unit.call->draws) add_draw(unit.call->after);
    for (int stream : unit.streams) add_draw(program_.streams[static_cast<size_t>(stream)].after);
    // A write comes after what reads the old elements.
    for (int g : writes_.readers(unit)) found.push_back(g);
    std::sort(found.begin(), found.end(), std::greater<>());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }
  int unit_of_call(const Call& call) const {
    return program_.unit_of_definition[program_.values[call.results.at(0)].definition->id];
  }
  template <class Add>
  void add_call_sources(const std::vector<CallArgument>& arguments, Add&& add) const {
    for (const CallArgument& argument : arguments) {
      if (argument.tensor >= 0) {
        const TensorValue& value = program_.values[argument.tensor];
        add(program_.unit_of_definition[program_.values[value.root].definition->id]);
      }
      add_call_sources(argument.list, add);
    }
  }

  void place(int index) {
    const Unit& unit = program_.units[index];
    const std::vector<int> from = sources(unit);
    const bool is_late = unit.written >= 0 && program_.has_late_writes;
    if (!is_alone(unit) && !is_late)
      for (int g : candidates(unit, from))
        if (join(index, g, from)) return;
    Group group;
    for (int g : from) group.time = std::max(group.time, groups_[g].time + 1);
    if (is_late) group.time = late_time();
    int next = 0;
    Fit fitted = first_fit(*program_.pool, sizes_of(unit), rows_of(unit), next);
    group.axes = std::move(fitted.axes);
    group.has_rows = unit.reduction != nullptr;
    group.units.push_back({index, std::move(fitted.at), false});
    next_axis_.push_back(next);
    is_needed_.push_back(false);
    group_of_[index] = static_cast<int>(groups_.size());
    note_needed(from, group_of_[index]);
    note_reads(unit, group_of_[index]);
    groups_.push_back(std::move(group));
    writes_.note(index, group_of_[index], groups_.back());
  }

  // Writes are the last units, and all of them come after all others.
  int late_time() {
    if (late_time_ < 0) {
      late_time_ = 0;
      for (const Group& group : groups_) late_time_ = std::max(late_time_, group.time + 1);
    }
    return late_time_;
  }

  // Groups that made what the unit reads, then groups that read or draw the same.
  std::vector<int> candidates(const Unit& unit, const std::vector<int>& from) const {
    std::vector<int> found = from;
    const auto add = [&found](const std::map<int, int>& all, int id) {
      const auto readers = all.find(id);
      if (readers == all.end()) return;
      if (std::find(found.begin(), found.end(), readers->second) == found.end())
        found.push_back(readers->second);
    };
    for (int stream : unit.streams) add(drawers_, stream);
    for (const Read& read : unit.reads)
      if (read.definition)
        add(readers_, read.definition->id);
      else
        add(result_readers_, group_of_[source(read)]);
    return found;
  }

  // The loops of updates are none of a group's axes.
  static bool is_alone(const Unit& unit) {
    return unit.kind == Unit::Kind::Call || unit.kind == Unit::Kind::Scatter;
  }
  // A group with a scan has no other one, and no reductions.
  static bool can_scan_with(const Unit& unit, const Unit& first) {
    if (first.kind == Unit::Kind::Scan)
      return unit.kind == Unit::Kind::Pointwise || unit.reduction == first.reduction;
    return unit.kind != Unit::Kind::Scan;
  }
  // Rows that are cut into pieces are the same in all reductions of a group.
  static bool can_cut_with(const Unit& unit, const Unit& first) {
    const auto length = [](const Unit& u) {
      return u.reduction ? u.reduction->cut_length : nullptr;
    };
    if (!unit.reduction) return true;
    return length(unit) == length(first) &&
           (!length(unit) || std::equal(sizes_of(unit).begin(), sizes_of(unit).end(),
                                        sizes_of(first).begin(), sizes_of(first).end()));
  }
  static bool splits_row(const Group& group, const Fit& fitted) {
    return std::any_of(group.axes.begin(), group.axes.end(), [&](const DomainAxis& axis) {
      return axis.is_row && fitted.replaced.count(axis.var) != 0;
    });
  }

  bool join(int index, int g, const std::vector<int>& from) {
    const Unit& unit = program_.units[index];
    Group& group = groups_[g];
    const Unit& first = program_.units[group.units[0].unit];
    if (is_alone(first) || !can_scan_with(unit, first)) return false;
    if (!can_cut_with(unit, first)) return false;
    const bool is_cut = first.reduction && first.reduction->cut_length;
    if (group.units.size() >= kMaxUnits) return false;
    // A group that nothing depends on may run later.
    int time = group.time;
    for (int other : from)
      if (other != g) time = std::max(time, groups_[other].time + 1);
    if (time != group.time && is_needed_[g]) return false;
    const bool reduces = unit.kind != Unit::Kind::Pointwise;
    for (bool is_per_row : {false, true}) {
      if (is_per_row && (reduces || !group.has_rows || first.kind == Unit::Kind::Scan)) break;
      if (is_cut && !reduces && !is_per_row) continue;
      int next = next_axis_[g];
      std::optional<Fit> fitted =
          fit(*program_.pool, group.axes, sizes_of(unit), rows_of(unit), is_per_row, next);
      if (!fitted || !keeps_rows(group, *fitted, unit)) continue;
      if (first.kind == Unit::Kind::Scan && splits_row(group, *fitted)) continue;
      if (!reads_in_place(unit, g, *fitted)) continue;
      if (!writes_.can_join(unit, fitted->at, g, group, fitted->replaced)) continue;
      next_axis_[g] = next;
      group.axes = std::move(fitted->axes);
      if (!fitted->replaced.empty())
        for (GroupUnit& member : group.units)
          for (const Expr*& at : member.at)
            at = symbolic::substitute(*program_.pool, at, fitted->replaced);
      group.has_rows |= reduces;
      group.time = time;
      place_in_group_[index] = group.units.size();
      group.units.push_back({index, std::move(fitted->at), is_per_row});
      group_of_[index] = g;
      note_needed(from, g);
      note_reads(unit, g);
      writes_.note(index, g, group);
      return true;
    }
    return false;
  }

  // A reduction has the rows of the group, if that has any: each axis belongs to one of its
  // dimensions, and is part of a row as a whole or not at all.
  bool keeps_rows(const Group& group, const Fit& fitted, const Unit& unit) const {
    if (!unit.reduction) return true;
    for (size_t d = 0; d < fitted.at.size(); ++d)
      for (const Expr* var : symbolic::symbols_of(fitted.at[d])) {
        const auto is_var = [&](const DomainAxis& axis) { return axis.var == var; };
        const auto axis = std::find_if(fitted.axes.begin(), fitted.axes.end(), is_var);
        if (axis == fitted.axes.end()) continue;  // a size
        if (axis->is_row != unit.reduction->is_reduced(d)) return false;
        const auto before = std::find_if(group.axes.begin(), group.axes.end(), is_var);
        if (group.has_rows && before != group.axes.end() && before->is_row != axis->is_row)
          return false;
      }
    return !group.has_rows || fitted.replaced.empty() || splits_alike(group, fitted);
  }
  // Parts of an axis that was split are rows where it was one.
  static bool splits_alike(const Group& group, const Fit& fitted) {
    for (const auto& [old, parts] : fitted.replaced)
      for (const DomainAxis& axis : group.axes) {
        if (axis.var != old) continue;
        for (const Expr* var : symbolic::symbols_of(parts))
          for (const DomainAxis& part : fitted.axes)
            if (part.var == var && part.is_row != axis.is_row) return false;
      }
    return true;
  }

  // What the unit reads of the group's own values lies at the running place.
  bool reads_in_place(const Unit& unit, int g, const Fit& fitted) const {
    const Group& group = groups_[g];
    symbolic::ExprPool& pool = *program_.pool;
    symbolic::Replacements to_axes;
    for (size_t d = 0; d < fitted.at.size(); ++d) to_axes[own_variable(pool, d)] = fitted.at[d];
    for (const Read& read : unit.reads) {
      const int from = source(read);
      if (from < 0) continue;
      if (group_of_[from] != g) continue;
      const GroupUnit* member = &group.units[place_in_group_[from]];
      const Unit& other = program_.units[from];
      // A part of the memory that the other unit writes.
      if (read.definition && read.definition != other.definition) return false;
      const Place whole = read.reduction ? read.reduction->kept(member->at) : member->at;
      for (size_t d = 0; d < whole.size(); ++d) {
        const Expr* want = symbolic::substitute(pool, whole[d], fitted.replaced);
        const Expr* have = symbolic::substitute(pool, read.place[d], to_axes);
        if (want != have) return false;
      }
    }
    return true;
  }

  void note_needed(const std::vector<int>& from, int by) {
    for (int g : from)
      if (g != by) is_needed_[g] = true;
  }

  void note_reads(const Unit& unit, int g) {
    for (const Read& read : unit.reads)
      if (read.definition)
        readers_[read.definition->id] = g;
      else
        result_readers_[group_of_[source(read)]] = g;
    for (int stream : unit.streams) drawers_[stream] = g;
  }

  // The pass over a row that computes each unit: behind those of the reductions it reads.
  void order_passes(Group& group) {
    std::map<int, const GroupUnit*> members;
    for (GroupUnit& member : group.units) {
      for (const Read& read : program_.units[member.unit].reads) {
        const auto other = members.find(source(read));
        if (other == members.end()) continue;
        member.pass = std::max(member.pass, other->second->pass + (read.reduction != nullptr));
      }
      members[member.unit] = &member;
    }
  }

  const Program& program_;
  std::vector<Group> groups_;
  std::vector<int> group_of_, next_axis_;
  std::vector<size_t> place_in_group_;
  InputWrites writes_;
  int late_time_ = -1;                 // of writes; -1 before the first one
  std::vector<bool> is_needed_;        // by group: another one depends on it
  std::map<int, int> readers_;         // by definition: the newest group that reads it
  std::map<int, int> result_readers_;  // by group: the newest one that reads its reductions
  std::map<int, int> drawers_;         // by stream: the newest group that draws from it
};

}  // namespace

Fused fuse(const Program& program) { return Fuser(program).run(); }

}  // namespace taeda::inductor
