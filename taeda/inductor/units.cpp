// Choosing units and following their reads.
#include "taeda/inductor/units.h"

#include <algorithm>
#include <unordered_set>

#include "taeda/base/str.h"
#include "taeda/inductor/emit.h"
#include "taeda/kernel/schedule/schedule.h"

namespace taeda::inductor {

using kernel::Sym;

const Expr* own_variable(symbolic::ExprPool& pool, size_t d) {
  return pool.symbol(str("d", d), SymKind::Int, {0, symbolic::IntRange::kMax}, {});
}

const Place& sizes_of(const Unit& unit) {
  static const Place kNone = {};
  if (unit.definition) return unit.definition->sizes;
  return unit.reduction ? unit.reduction->sizes : kNone;
}

namespace {

// Values with more operations than this are not computed again.
constexpr int kDearValue = 64;
// What a random number counts for, by each of its two numbers of the run.
constexpr int kDearDraw = 40;
// Values whose places have more operations than this are stored: a place that is written into
// another one stands there several times, so a chain of views would double it at each step.
constexpr uint32_t kDearPlace = 192;

// What writing a value in place of a read costs.
struct Cost {
  int operations = 0, reads = 0;
  uint32_t place = 0;  // operations of the longest place that it depends on
};

// Notes what the value of a unit reads.
class ReadCollector final : public InliningEmitter {
 public:
  ReadCollector(const Program& program, std::vector<Read>& reads,
                std::vector<int>* streams = nullptr)
      : program_(program), reads_(reads), streams_(streams) {}

  symbolic::ExprPool& pool() override { return *program_.pool; }
  kernel::ExprGraph& graph() override { return graph_; }
  Sym result(const Reduction& reduction, int which, const Place& kept) override {
    reads_.push_back({nullptr, &reduction, which, kept});
    return leaf(body_of(program_, reduction).result_types.at(static_cast<size_t>(which)));
  }
  Sym number(int index, kernel::Type type) override {
    ++num_draws_;
    if (streams_ && index % 2 == 0) streams_->push_back(index / 2);
    return leaf(type);
  }
  // Definitions that are read at an index from memory and read no memory there themselves: nothing
  // would check the index.
  const std::vector<const Definition*>& unchecked() const { return unchecked_; }
  // A few operations of a cycle each, on no more elements than one of memory.
  bool is_cheap() const {
    constexpr int kMostNodes = 12;
    if (graph_.size() > kMostNodes || num_draws_ > 0) return false;
    for (int i = 0; i < graph_.size(); ++i)
      if (kernel::is_dear(graph_.node(i).op)) return false;
    return true;
  }
  // An index that is read may be out of range.
  bool may_fail() const { return !graph_.indirects().empty(); }
  Cost cost() const {
    const int operations = graph_.size() - num_leaves_ + num_draws_ * kDearDraw;
    uint32_t place = 0;
    for (const Read& read : reads_)
      for (const Expr* at : read.place) place = std::max(place, at->size);
    for (int i = 0; i < graph_.size(); ++i)
      if (const Expr* at = graph_.node(i).at) place = std::max(place, at->size);
    return {operations, static_cast<int>(reads_.size()), place};
  }

 protected:
  std::optional<Sym> stored(const Definition& definition, const Place& place) override {
    if (definition.value && program_.unit_of_definition[definition.id] < 0) return std::nullopt;
    reads_.push_back({&definition, nullptr, 0, place});
    return leaf(kernel::compute_type(definition.dtype));
  }

  void begin_inline() override { open_.push_back(unchecked_.size()); }
  void end_inline(const Definition& definition, const Place& place) override {
    const size_t first_unchecked = open_.back();
    open_.pop_back();
    // What was read before is not read again, so any read at the index counts.
    for (const Expr* symbol : indirect_symbols(place)) {
      const bool is_checked = std::any_of(reads_.begin(), reads_.end(), [&](const Read& read) {
        return indirect_symbols(read.place).count(symbol) != 0;
      });
      if (is_checked) continue;
      unchecked_.resize(first_unchecked);
      unchecked_.push_back(&definition);
      return;
    }
  }

 private:
  Sym leaf(kernel::Type type) { return Sym::from_id(graph_.input(num_leaves_++, type)); }

  const Program& program_;
  std::vector<Read>& reads_;
  std::vector<int>* streams_;
  kernel::ExprGraph graph_;
  int num_leaves_ = 0, num_draws_ = 0;
  std::vector<size_t> open_;  // unchecked ones before it
  std::vector<const Definition*> unchecked_;
};

}  // namespace

Place own_place(const Program& program, const Place& sizes) {
  Place place;
  for (size_t d = 0; d < sizes.size(); ++d)
    place.push_back(sizes[d]->is_constant(1) ? program.pool->integer(0)
                                             : own_variable(*program.pool, d));
  return place;
}

const kernel::ReduceBody& body_of(const Program& program, const Reduction& reduction) {
  program.bodies.resize(program.reductions.size());
  const kernel::ReduceBody*& body = program.bodies[reduction.id];
  if (body) return *body;
  std::vector<Read> reads;
  ReadCollector collector(program, reads);
  const kernel::BuilderScope scope(collector.graph(), kernel::Type::F32);
  const std::vector<Sym> values = reduction.values(collector, own_place(program, reduction.sizes));
  body = kernel::find_reduce_body(reduction.body, collector.type_of(values.at(0)));
  return *body;
}

namespace {

class UnitFinder {
 public:
  explicit UnitFinder(Program& program) : program_(program) {
    for (const TensorValue& value : program_.values)
      if (value.definition) value_of_[value.definition->id] = &value;
    for (const Call& call : program_.calls)
      for (int result : call.results) {
        const TensorValue& value = program_.values[result];
        if (value.definition) call_of_[value.definition->id] = &call;
      }
    for (const Write& write : program_.writes) {
      const TensorValue& value = program_.values[write.value];
      written_[value.definition->id] = value.geometry.memory;
    }
  }

  // Units that were found before a definition turned out to be one do not know that they read it,
  // so all are found again, until no such definition is left.
  void run() {
    do {
      is_found_ = true;
      find();
      if (is_found_) store_sources();
    } while (!is_found_);
    drop_unread();
  }

 private:
  void find() {
    program_.units.clear();
    program_.unit_of_definition.assign(program_.definitions.size(), -1);
    program_.unit_of_reduction.assign(program_.reductions.size(), -1);
    added_calls_.clear();
    // Definitions are in an order in which they can be computed; a unit's reads are units by then.
    for (const Definition& definition : program_.definitions) visit(definition);
    for (const Call& call : program_.calls)
      if (call.results.empty()) add_call(call);
  }

  void visit(const Definition& definition) {
    const auto call = call_of_.find(definition.id);
    if (call != call_of_.end()) return add_call(*call->second);
    const auto found = value_of_.find(definition.id);
    const TensorValue* value = found == value_of_.end() ? nullptr : found->second;
    const bool is_root = value && &program_.values[value->root] == value;
    if (!definition.value) {
      // A part of its root's memory, or of an input's.
      if (!is_root)
        program_.unit_of_definition[definition.id] =
            program_.unit_of_definition[program_.values[value->root].definition->id];
      return;
    }
    Unit unit{Unit::Kind::Pointwise, &definition, nullptr, nullptr, {}, value ? value->name : ""};
    ReadCollector collector(program_, unit.reads, &unit.streams);
    collector.compute(definition, own_place(program_, definition.sizes));
    store(collector.unchecked());
    if (definition.scatter) {
      unit.kind = Unit::Kind::Scatter;
      collect_updates(*definition.scatter, unit);
    }
    const bool is_kept =
        (is_root && value->is_kept) || definition.is_stored || stored_.count(definition.id) != 0;
    if (!is_kept && !is_dear(collector.cost(), unit.reads, value)) return;
    unit.is_cheap = collector.is_cheap();
    unit.may_fail = collector.may_fail();
    if (const auto memory = written_.find(definition.id); memory != written_.end())
      unit.written = memory->second;
    take_scan(unit);
    require(unit.reads);
    program_.unit_of_definition[definition.id] = static_cast<int>(program_.units.size());
    program_.units.push_back(std::move(unit));
  }

  // Definitions that lie in memory when units are found again.
  void store(const std::vector<const Definition*>& definitions) {
    for (const Definition* definition : definitions) stored_.insert(definition->id);
    is_found_ &= definitions.empty();
  }

  // Sources of writes that lie in memory before: Note [Writes to inputs].
  void store_sources() {
    if (program_.writes.empty()) return;
    program_.has_late_writes =
        !program_.calls.empty() || std::any_of(program_.units.begin(), program_.units.end(),
                                               [](const Unit& unit) { return unit.may_fail; });
    for (const Write& write : program_.writes)
      if ((write.is_stored || program_.has_late_writes) &&
          program_.unit_of_definition[write.source->id] < 0)
        store({write.source});
  }

  // A unit that reads a scan runs it: what the scan's values read takes the place of that read.
  void take_scan(Unit& unit) {
    std::vector<Read> reads;
    std::swap(reads, unit.reads);
    for (Read& read : reads) {
      if (!read.reduction || !read.reduction->is_scan) {
        unit.reads.push_back(std::move(read));
        continue;
      }
      TAEDA_INTERNAL_CHECK(!unit.reduction || unit.reduction == read.reduction, unit.name,
                           " reads two scans");
      if (unit.reduction) continue;
      unit.kind = Unit::Kind::Scan;
      unit.reduction = read.reduction;
    }
    if (unit.reduction) collect_values(*unit.reduction, unit);
  }
  void collect_values(const Reduction& reduction, Unit& unit) {
    ReadCollector collector(program_, unit.reads, &unit.streams);
    const kernel::BuilderScope scope(collector.graph(), kernel::Type::F32);
    reduction.values(collector, own_place(program_, reduction.sizes));
    unit.may_fail |= collector.may_fail();
    store(collector.unchecked());
  }

  void collect_updates(const kernel::Scatter& scatter, Unit& unit) {
    ReadCollector collector(program_, unit.reads, &unit.streams);
    const kernel::BuilderScope scope(collector.graph(), kernel::Type::F32);
    scatter.update(collector, own_place(program_, scatter.sizes));
    store(collector.unchecked());
  }

  static bool is_dear(const Cost& cost, const std::vector<Read>& reads, const TensorValue* value) {
    if (!value) return false;
    // What follows a reduction would be computed again in each pass over the row.
    if (std::any_of(reads.begin(), reads.end(), [](const Read& r) { return r.reduction; }))
      return true;
    if (cost.place > kDearPlace) return true;
    const int uses = value->num_uses;
    if (uses < 2) return cost.operations > 2 * kDearValue;
    return cost.operations > kDearValue || cost.reads * uses > cost.reads + 1 + uses;
  }

  // Reductions become units where they are first read.
  void require(const std::vector<Read>& reads) {
    for (const Read& read : reads)
      if (read.reduction && program_.unit_of_reduction[read.reduction->id] < 0)
        add_reduction(*read.reduction);
  }

  void add_reduction(const Reduction& reduction) {
    Unit unit{Unit::Kind::Reduction, nullptr, &reduction, nullptr, {}, reduction.body};
    collect_values(reduction, unit);
    require(unit.reads);
    program_.unit_of_reduction[reduction.id] = static_cast<int>(program_.units.size());
    program_.units.push_back(std::move(unit));
  }

  void add_call(const Call& call) {
    if (!added_calls_.insert(&call).second) return;
    Unit unit{Unit::Kind::Call, nullptr, nullptr, &call, {}, call.node->name()};
    const int index = static_cast<int>(program_.units.size());
    program_.units.push_back(std::move(unit));
    for (int result : call.results)
      program_.unit_of_definition[program_.values[result].definition->id] = index;
  }

  bool is_kept(const Unit& unit) const {
    if (!unit.definition) return unit.kind == Unit::Kind::Call;
    const auto found = value_of_.find(unit.definition->id);
    if (found == value_of_.end()) return false;
    return found->second->is_kept && &program_.values[found->second->root] == found->second;
  }

  // A value of which only the sizes are used is a unit that nothing reads.
  void drop_unread() {
    std::vector<Unit>& units = program_.units;
    std::vector<bool> is_needed(units.size());
    for (size_t i = units.size(); i-- > 0;) {
      is_needed[i] = is_needed[i] || is_kept(units[i]);
      if (!is_needed[i]) continue;
      for (const Read& read : units[i].reads) {
        const int from = read.reduction ? program_.unit_of_reduction[read.reduction->id]
                                        : program_.unit_of_definition[read.definition->id];
        if (from >= 0) is_needed[from] = true;
      }
    }
    std::vector<int> moved(units.size(), -1);
    std::vector<Unit> left;
    for (size_t i = 0; i < units.size(); ++i) {
      if (!is_needed[i]) continue;
      moved[i] = static_cast<int>(left.size());
      left.push_back(std::move(units[i]));
    }
    units = std::move(left);
    for (std::vector<int>* all : {&program_.unit_of_definition, &program_.unit_of_reduction})
      for (int& unit : *all)
        if (unit >= 0) unit = moved[unit];
  }

  Program& program_;
  std::unordered_map<int, const TensorValue*> value_of_;
  std::unordered_map<int, const Call*> call_of_;
  std::unordered_map<int, int> written_;  // by definition: memory of an input
  std::unordered_set<const Call*> added_calls_;
  std::unordered_set<int> stored_;  // definitions, by id
  bool is_found_ = true;
};

}  // namespace

void find_units(Program& program) { UnitFinder(program).run(); }

}  // namespace taeda::inductor
