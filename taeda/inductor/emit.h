// What emitters of definitions share: each value at each place is written once.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "taeda/inductor/program.h"

namespace taeda::inductor {

class InliningEmitter : public kernel::Emitter {
 public:
  kernel::Sym read(const Definition& definition, const Place& place) final;
  kernel::Sym read_if(kernel::SymMask mask, const Definition& definition, const Place& place) final;
  const Expr* indirect(kernel::Sym value, const Expr* extent, bool wraps) final;
  kernel::Sym divisor(kernel::Sym value) final;
  // Writes the value of a definition, and remembers it.
  kernel::Sym compute(const Definition& definition, const Place& place);

 protected:
  // Under it memory is read; -1: everywhere.
  kernel::NodeId mask() const { return mask_; }
  // The element where it lies in memory; nothing where it is computed in place.
  virtual std::optional<kernel::Sym> stored(const Definition& definition, const Place& place) = 0;
  // Around the value of a definition that is computed where it is read.
  virtual void begin_inline() {}
  virtual void end_inline(const Definition&, const Place&) {}
  // The indices that were read and that a place depends on.
  std::set<const Expr*> indirect_symbols(const Place& place);

 private:
  struct Key {
    int id;
    kernel::NodeId mask;
    Place place;
    friend bool operator==(const Key& a, const Key& b) {
      return a.id == b.id && a.mask == b.mask &&
             std::equal(a.place.begin(), a.place.end(), b.place.begin(), b.place.end());
    }
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  std::unordered_map<Key, kernel::NodeId, Hash> known_;
  kernel::NodeId mask_ = -1;
  // One symbol for each value, extent and way to wrap.
  std::map<std::tuple<kernel::NodeId, const Expr*, bool>, const Expr*> indirect_;
};

}  // namespace taeda::inductor
