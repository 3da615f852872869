// ShapeEnv: the symbols of a program's shapes, what is assumed of them, and the guards under which
// the assumptions hold.
//
// A backed symbol stands for an integer of an input and has a hint, its value in this run. A
// question about it that does not follow from what is known is answered by the hint, and the answer
// becomes a guard. An unbacked symbol stands for a number that only a run can tell; a question
// about it that does not follow is an error, and what the program asserts of it is checked at run
// time. One thread at a time.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "taeda/core/tensor.h"
#include "taeda/symbolic/expr.h"
#include "taeda/symbolic/facts.h"

namespace taeda::fx {

// Shapes are written in the index language.
using namespace symbolic;

// How a dimension of an input is treated; PyTorch's names and numbers.
enum class DimDynamic : uint8_t { Dynamic, Duck, Static, Unbacked, InferStride };

// The user's requirement on a dimension.
struct DimConstraint {
  enum class Kind : uint8_t {
    None,
    Relaxed,  // it must not become a constant
    Strict,   // every value of the range must pass the guards
  };
  Kind kind = Kind::None;
  IntRange range;
};

struct ShapeEnvSettings {
  bool specialize_zero_one = true;
  bool duck_shape = true;
  // Where a shape rule has an answer for numbers that only data tells, it takes that answer for
  // sizes of inputs too: no guard on their values, and no symbol of theirs is 0 or 1 to it.
  bool is_backed_oblivious = false;
};

struct Guard {
  const Expr* condition;
  std::string where;  // the user's file, line and function; empty where unknown
};
struct RuntimeAssert {
  const Expr* condition;
  std::string message;
  std::string where;
  bool is_given = false;  // it follows from how the number is made
};

// A question about an unbacked symbol that has no answer (PyTorch's GuardOnDataDependentSymNode).
class TAEDA_API DataDependentError : public Error {
 public:
  DataDependentError(std::string message, std::string condition)
      : Error(ErrorKind::Runtime, std::move(message)), condition_(std::move(condition)) {}
  ~DataDependentError() override;
  const std::string& condition() const { return condition_; }

 private:
  std::string condition_;
};
// A requirement on a dimension that the program does not keep.
class TAEDA_API ConstraintViolation : public Error {
 public:
  explicit ConstraintViolation(std::string message)
      : Error(ErrorKind::Runtime, std::move(message)) {}
  ~ConstraintViolation() override;
};

// An integer of an input and where it comes from: L['x'].size()[0].
struct GuardInput {
  std::string source;
  const Expr* expr;
};

// The checks of a set of inputs, ready to be run on values.
struct TAEDA_API GuardSet {
  struct Binding {
    const Expr* symbol;
    size_t input;
  };
  struct Range {
    size_t input;
    IntRange range;
  };
  struct Equality {  // the input's value is the expression's
    size_t input;
    const Expr* expected;
  };
  std::vector<GuardInput> inputs;
  std::vector<Binding> bindings;
  std::vector<Equality> equalities;
  std::vector<const Expr*> conditions;
  std::vector<Range> ranges;

  Assignment bind(const std::vector<int64_t>& values) const;
  // The index of the first check that fails, as in `texts`; nothing when all hold.
  std::optional<size_t> first_failure(const std::vector<int64_t>& values) const;
  // A Python expression for each check.
  std::vector<std::string> texts() const;
  // Without what the inputs' symbols say already: equalities, and the bounds they were made with.
  std::vector<std::string> short_texts() const;
};

class TAEDA_API ShapeEnv : public RefCounted {
 public:
  explicit ShapeEnv(ShapeEnvSettings settings = {}) : settings_(settings), facts_(pool_) {}

  const ShapeEnvSettings& settings() const { return settings_; }
  void set_settings(const ShapeEnvSettings& settings) { settings_ = settings; }
  ExprPool& pool() { return pool_; }
  Facts& facts() { return facts_; }

  // ---- symbols ----
  // The expression of an input's integer: a new symbol, one that is shared with an equal hint, or a
  // constant.
  const Expr* create_symbol(int64_t hint, const std::string& source,
                            DimDynamic dynamic = DimDynamic::Duck, DimConstraint constraint = {},
                            IntRange range = {0, IntRange::kMax});
  const Expr* create_float_symbol(double hint, const std::string& source);
  const Expr* create_unbacked(SymKind kind = SymKind::Int, IntRange range = {});
  // The value that an unbacked number had in this run. Questions that data decides are answered by
  // such values, and the answers are asserted when the program runs.
  void observe(const Expr* unbacked, ExprValue value);
  // The value of an expression in this run; nothing where a symbol has neither hint nor such a
  // value.
  std::optional<ExprValue> value_in_run(const Expr* e) const;
  // Guesses for what only data tells, by which optimizations choose; nothing follows from them. An
  // unbacked integer is its value in this run, what somebody said of it, or `fallback` within its
  // range.
  static constexpr int64_t kLikelySize = 8192;
  void set_likely_value(const Expr* unbacked, int64_t value);
  const Assignment& likely_values() const { return likely_; }
  std::optional<ExprValue> likely_value(const Expr* e, int64_t fallback = kLikelySize);
  // What the names of symbols tell: zf0 and zuf0 are floats, others integers.
  static SymKind kind_of_name(std::string_view name);
  // The unbacked symbol of a function of these numbers, one for each set of them.
  const Expr* unbacked_of(const std::string& function, SymIntList of);
  // Whether a number of that kind is part of an expression.
  bool has_function_of(const Expr* e) const;
  struct Geometry {
    SymIntVec sizes, strides;
    SymInt offset;
  };
  // Symbols for sizes; strides and offset are expressions of the sizes where they agree. Strides
  // that agree with none are symbols where a size is one, and where `strides_change`.
  Geometry create_geometry(IntList sizes, IntList strides, int64_t offset,
                           const std::string& source, Span<DimDynamic> dynamic = {},
                           Span<DimConstraint> constraints = {}, bool strides_change = false);
  // The number as an operand of shape rules; plain where the expression is a constant.
  SymInt symint(const Expr* e);
  const Expr* expr(const SymInt& v);
  const std::map<std::string, const Expr*>& symbols() const { return symbols_; }
  // All places a symbol was made for, the first first.
  const std::vector<std::string>& sources(const Expr* symbol) const;

  // ---- questions ----
  const Expr* simplify(const Expr* e) { return facts_.simplify(e); }
  // The answer if it follows from known facts; records nothing.
  std::optional<bool> decide(const Expr* condition) { return facts_.decide(condition); }
  // The truth of a condition, guarded on. `is_size_oblivious`: the question of a shape rule, which
  // may take an unbacked size for neither 0 nor 1.
  bool evaluate(const Expr* condition, bool is_size_oblivious = false);
  // The value of an expression, guarded on: specializes.
  ExprValue specialize(const Expr* e);
  // Asserts: known from now on, checked by a guard or at run time; false when it cannot hold.
  bool expect_true(const Expr* condition, const std::string& message = "");
  void constrain_range(const Expr* e, IntRange range);
  void check_is_size(const Expr* e);
  // What is asserted within follows from how the numbers are made.
  void assert_given(bool on) { num_given_ += on ? 1 : -1; }

  // ---- guards ----
  const std::vector<Guard>& guards() const { return guards_; }
  const std::vector<RuntimeAssert>& runtime_asserts() const { return runtime_asserts_; }
  // From now on answers are given by hints without being recorded.
  void freeze() { is_frozen_ = true; }
  bool is_frozen() const { return is_frozen_; }
  // Answers within are not recorded.
  void suppress_guards(bool on) { num_suppressions_ += on ? 1 : -1; }
  // The conditions under which the assumptions hold for other inputs; constraints are checked.
  GuardSet guard_set(std::vector<GuardInput> inputs);
  // The same as Python expressions over the sources.
  std::vector<std::string> produce_guards(std::vector<GuardInput> inputs);
  // One line per guard, with its origin.
  std::string format_guards(bool is_verbose);

  // Tells where the user's program is; set by the bindings.
  static void set_location_hook(std::string (*hook)());
  // The object of the bindings that stands for this; borrowed.
  void* python_object = nullptr;

 private:
  struct Constrained {
    std::string source;
    const Expr* expr;
    DimConstraint constraint;
  };
  const Expr* create_size(int64_t hint, const std::string& source, DimDynamic dynamic,
                          DimConstraint constraint);
  void record(const Expr* condition);
  void check_constraints();
  std::string why_not(const Constrained& c);
  const Constrained* only_root_of(const Expr* e) const;
  bool is_required(const Expr* e) const;
  bool is_recording() const { return !is_frozen_ && num_suppressions_ == 0; }
  [[noreturn]] void fail_data_dependent(const Expr* e, bool is_condition);

  ShapeEnvSettings settings_;
  ExprPool pool_;
  Facts facts_;
  std::map<std::string, const Expr*> symbols_;
  std::unordered_map<const Expr*, std::vector<std::string>> sources_;
  Assignment observed_, likely_;
  std::map<int64_t, const Expr*> by_hint_;  // duck shaping
  std::map<std::pair<std::string, std::vector<const Expr*>>, const Expr*> functions_;
  std::vector<Constrained> constrained_;
  std::vector<Guard> guards_;
  std::vector<RuntimeAssert> runtime_asserts_;
  int num_backed_ = 0, num_unbacked_ = 0, num_floats_ = 0;
  int num_suppressions_ = 0, num_given_ = 0;
  bool is_frozen_ = false;
};

// Sizes, strides and offset of an input tensor as integers with sources.
TAEDA_API std::vector<GuardInput> inputs_of(ShapeEnv& env, const std::string& source,
                                            const Tensor& t);

}  // namespace taeda::fx
