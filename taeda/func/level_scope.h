// Scopes of transforms: a level that ends with its scope, by an exception too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "taeda/dispatch/levels.h"

namespace taeda::func {

using dispatch::Randomness;

// A level of the thread's stack (dispatch/levels.h). The end of the scope ends it, and those above
// it that somebody left behind, so that the stack and the modes are what they were.
class TAEDA_API LevelScope {
 public:
  LevelScope(const LevelScope&) = delete;
  ~LevelScope();
  uint64_t id() const { return id_; }
  // The value inside a wrapper of this level; other tensors as they are.
  Tensor unwrap(const Tensor& t) const;

 protected:
  explicit LevelScope(uint64_t id) : id_(id), depth_(dispatch::num_levels()) {}

 private:
  uint64_t id_;
  size_t depth_;
};

// Reverse mode. Recording is on inside, whatever holds outside. Hooks on saved tensors would see
// the level's wrappers: RuntimeError where they are set outside, or by what runs inside.
class TAEDA_API GradScope : public LevelScope {
 public:
  GradScope();
  ~GradScope();
  // As something to differentiate by.
  Tensor track(const Tensor& t) const;
  // As a constant: operators that write know it as the level's own.
  Tensor wrap(const Tensor& t) const;

 private:
  std::string outer_message_;  // what setting hooks outside says; empty where it is allowed
};

// Forward mode.
class TAEDA_API JvpScope : public LevelScope {
 public:
  JvpScope();
  Tensor make_dual(const Tensor& primal, const Tensor& tangent) const;
  Tensor primal(const Tensor& t) const;
  // Zeros where the tensor has no tangent, undefined where `is_strict`.
  Tensor tangent(const Tensor& t, bool is_strict) const;
};

// A result of a level of vmap, with the batch at `out_dim`: where every example has the same, as a
// dimension without memory.
TAEDA_API Tensor remove_batch(const Tensor& t, uint64_t level, const SymInt& batch_size,
                              int64_t out_dim);

class TAEDA_API VmapScope : public LevelScope {
 public:
  VmapScope(SymInt batch_size, Randomness randomness);
  // `dim` counts from the front; without one the tensor is the same for every example.
  Tensor wrap(const Tensor& t, std::optional<int64_t> dim) const;
  // The batch at `out_dim`. ValueError for a batched tensor without one.
  Tensor unwrap(const Tensor& t, std::optional<int64_t> out_dim) const;

 private:
  SymInt batch_size_;
};

}  // namespace taeda::func
