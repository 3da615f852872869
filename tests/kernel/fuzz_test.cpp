// Random kernels, printed and interpreted, as they are and under the usual schedule: every buffer
// must hold the same bits.
//
// TAEDA_FUZZ_KERNELS sets how many; TAEDA_FUZZ_SEED where they start; TAEDA_FUZZ_OPTIMIZATION how
// they are compiled. With TAEDA_FUZZ_PRINTED=0 they are only interpreted.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "taeda/base/half.h"
#include "taeda/base/str.h"
#include "taeda/kernel/interpret/interpret.h"
#include "taeda/kernel/ir/text.h"
#include "taeda/kernel/print.h"
#include "taeda/kernel/schedule/schedule.h"
#include "tests/kernel/compile.h"
#include "tests/kernel/evaluate.h"

namespace taeda::kernel::test {
namespace {

using StageFn = void (*)(char* const*, const int64_t*, const void*, int64_t*, int64_t, int64_t);
constexpr int64_t kRows = 6;  // rows of a buffer that is indexed through another

// Makes one random kernel and the sizes that it is run with.
class Maker {
 public:
  explicit Maker(uint32_t seed) : random_(seed) { kernel_.name = str("fuzz", seed); }

  Kernel make() {
    type_ = pick({Type::F32, Type::F32, Type::F64, Type::I64});
    const int count = below(3) + 1;
    for (int i = 0; i < count; ++i) {
      extents_.push_back(kernel_.add_param(str("n", i)));
      sizes.push_back(below(8) == 0 ? below(2) : i + 1 == count ? below(70) + 1 : below(9) + 1);
      vars_.push_back(kernel_.axis(str("i", i)));
    }
    if (below(5) == 0) sizes.back() = 4000 + below(400);
    rows_ = kernel_.add_param("rows");
    sizes.push_back(kRows);
    const int reduced = below(3) == 0 ? 0 : below(count) + 1;
    NodeId value = expression(below(6) + 1);
    if (reduced == 0 && below(4) == 0)
      scan_over(count, value);
    else if (reduced == 0)
      store_over(count, value);
    else
      reduce_over(count - reduced, value);
    return std::move(kernel_);
  }

  std::vector<int64_t> sizes;

 private:
  int below(int n) { return static_cast<int>(random_() % n); }
  template <class T>
  T pick(std::initializer_list<T> all) {
    return all.begin()[below(static_cast<int>(all.size()))];
  }
  ExprPool& pool() { return *kernel_.pool; }

  // An index over some of the first `count` axes in any order, and the elements that it needs.
  struct Place {
    const Expr *at, *numel;
  };
  Place place(size_t count, bool needs_all, const Expr* row = nullptr) {
    std::vector<size_t> order;
    for (size_t i = 0; i < count; ++i)
      if (needs_all || below(4) != 0) order.push_back(i);
    if (below(2)) std::shuffle(order.begin(), order.end(), random_);
    const Expr* stride = pool().integer(needs_all ? 1 : pick<int64_t>({1, 1, 1, 2}));
    const Expr* at = pool().integer(needs_all ? 0 : below(3));
    for (size_t i = order.size(); i-- > 0;) {
      const Expr* var = vars_[order[i]];
      const Expr* extent = extents_[order[i]];
      // Neighbours of an axis may share an element.
      if (!needs_all && below(6) == 0) var = pool().floor_div(var, pool().integer(2));
      at = pool().add(at, pool().mul(stride, var));
      stride = pool().mul(stride, extent);
    }
    if (row) at = pool().add(at, pool().mul(stride, row));
    if (row) stride = pool().mul(stride, rows_);
    return {at, pool().add(stride, pool().integer(3))};
  }

  DType dtype_of(Type type) {
    if (type == Type::F64) return DType::Double;
    if (type == Type::F32) return pick({DType::Float, DType::Float, DType::BFloat16, DType::Half});
    return pick({DType::Int64, DType::Int32, DType::UInt8, DType::Int16});
  }

  int buffer(const char* kind, DType dtype, const Expr* numel) {
    return kernel_.add_buffer(
        {str(kind, kernel_.buffers.size()), dtype, numel, Space::Global, 0, -1});
  }

  NodeId load() {
    const Expr* row = nullptr;
    if (below(4) == 0) {
      const Place where = place(vars_.size(), false);
      const int from = buffer("at", DType::Int64, where.numel);
      row = kernel_.values.indirect(pool(), str("t", from), kernel_.load(from, where.at), rows_,
                                    below(2) == 0);
    }
    const Place where = place(vars_.size(), false, row);
    Type from = type_;
    if (type_ != Type::I64 && below(3) == 0) from = pick({Type::F32, Type::I64});
    const bool is_flag = below(8) == 0;
    const int own = buffer("x", is_flag ? DType::Bool : dtype_of(from), where.numel);
    NodeId mask = -1, other = -1;
    if (below(5) == 0) {
      const Place flag = place(vars_.size(), false);
      mask = kernel_.load(buffer("m", DType::Bool, flag.numel), flag.at);
      other = is_flag ? kernel_.values.constant(1, Type::Mask)
                      : kernel_.values.constant(3, compute_type(kernel_.buffers[own].dtype));
    }
    const NodeId id = kernel_.load(own, where.at, mask, other);
    return kernel_.values.cast(id, type_);
  }

  NodeId leaf() {
    switch (below(8)) {
      case 0: return kernel_.values.constant(below(5) - 2, type_);
      case 1: return kernel_.values.uniform(0, type_);
      case 2: return kernel_.values.cast(kernel_.values.index(place(vars_.size(), true).at), type_);
      default: return load();
    }
  }

  NodeId expression(int depth) {
    if (depth == 0) return leaf();
    ExprGraph& g = kernel_.values;
    const NodeId a = expression(depth - 1);
    if (type_ != Type::I64 && below(3) == 0) {
      if (type_ == Type::F32 && below(4) == 0) return g.round(a, DType::BFloat16);
      return g.apply(pick({Op::Exp, Op::Tanh, Op::Sqrt, Op::Abs, Op::Neg, Op::Sin, Op::Erf}), a);
    }
    const NodeId b = leaf();
    if (below(4) == 0) {
      const NodeId is_less = g.apply(pick({Op::Lt, Op::Ge, Op::Ne}), a, b);
      return g.apply(Op::Where, is_less, a, leaf());
    }
    if (type_ == Type::I64)
      return g.apply(pick({Op::Add, Op::Sub, Op::Mul, Op::And, Op::Xor, Op::Maximum, Op::DivFloor,
                           Op::Remainder}),
                     a, b);
    return g.apply(pick({Op::Add, Op::Sub, Op::Mul, Op::Maximum, Op::Minimum, Op::Fmax}), a, b);
  }

  Axis axis(size_t i, Role role, bool is_last) {
    const bool is_vector = is_last && below(3) != 0;
    return {vars_[i], extents_[i], role, is_vector ? Binding::Vector : Binding::Serial};
  }

  Store store(size_t count, NodeId value) {
    const Type type = kernel_.values.node(value).type;
    const Place where = place(count, true);
    const int own = buffer("y", dtype_of(type), where.numel);
    NodeId mask = -1;
    if (below(8) == 0) {
      const Place flag = place(count, false);
      mask = kernel_.load(buffer("m", DType::Bool, flag.numel), flag.at);
    }
    return {own, where.at, value, mask, StoreMode::Write};
  }

  void store_over(size_t count, NodeId value) {
    Loop loop;
    for (size_t i = 0; i < count; ++i) loop.axes.push_back(axis(i, Role::Kept, i + 1 == count));
    if (below(6) == 0) {
      // In place: what is stored reads the same element.
      const Place own = place(count, true);
      const int both = buffer("y", dtype_of(type_), own.numel);
      value = kernel_.values.apply(Op::Add, value, kernel_.load(both, own.at));
      loop.steps.push_back(Store{both, own.at, value, -1, StoreMode::Write});
      value = kernel_.values.apply(Op::Mul, kernel_.load(both, own.at), leaf());
    }
    loop.steps.push_back(store(count, value));
    if (below(4) == 0) loop.steps.push_back(store(count, expression(below(3))));
    kernel_.steps.push_back(std::move(loop));
  }

  // Along the last axis; what is stored is the running state and a value beside it.
  void scan_over(size_t count, NodeId value) {
    std::vector<std::string> names = {"sum", "prod", "max", "argmin"};
    if (type_ != Type::I64) names.insert(names.end(), {"moments", "logsumexp"});
    const ReduceBody* body = find_reduce_body(names[below(static_cast<int>(names.size()))], type_);
    Loop loop;
    for (size_t i = 0; i < count; ++i)
      loop.axes.push_back({vars_[i], extents_[i], i + 1 < count ? Role::Kept : Role::Scanned});
    Scan scan{body, vars_.back(), {value}, 0};
    if (body->value_types.size() == 2)
      scan.values.push_back(kernel_.values.index(place(count, true).at));
    loop.steps.push_back(scan);
    const NodeId state = kernel_.values.state(0, body->result_types[0]);
    loop.steps.push_back(store(count, kernel_.values.apply(Op::Add, state, leaf())));
    kernel_.steps.push_back(std::move(loop));
  }

  // The axes from `kept` on are reduced; then, maybe, a loop over them that reads the result.
  void reduce_over(size_t kept, NodeId value) {
    std::vector<std::string> names = {"sum", "prod", "max", "min", "argmax"};
    if (type_ != Type::I64) names.insert(names.end(), {"moments", "logsumexp"});
    const ReduceBody* body = find_reduce_body(names[below(static_cast<int>(names.size()))], type_);
    Loop inner;
    Reduce reduce{body, {}, {value}, 0, Part::Whole};
    // Columns side by side, or vectors along the reduction.
    const bool is_across = kept > 0 && below(4) == 0;
    if (is_across) sizes[kept - 1] = below(200) + 1;
    for (size_t i = kept; i < vars_.size(); ++i) {
      inner.axes.push_back(axis(i, Role::Reduced, i + 1 == vars_.size() && !is_across));
      reduce.axes.push_back(vars_[i]);
    }
    if (body->value_types.size() == 2)
      reduce.values.push_back(kernel_.values.index(place(vars_.size(), true).at));
    inner.steps.push_back(reduce);
    Loop outer;
    for (size_t i = 0; i < kept; ++i) outer.axes.push_back(axis(i, Role::Kept, false));
    if (is_across) outer.axes.back().binding = Binding::Vector;
    if (kept == 0) outer.axes.push_back({kernel_.axis("o"), pool().integer(1)});
    outer.steps.push_back(std::move(inner));
    const NodeId result = kernel_.values.state(0, body->result_types[0]);
    if (below(2)) {
      Loop after;
      for (size_t i = kept; i < vars_.size(); ++i)
        after.axes.push_back(axis(i, Role::Kept, i + 1 == vars_.size() && !is_across));
      // The value of the reduction again, which a schedule may keep.
      const bool is_again = below(2) && kernel_.values.node(value).type == body->result_types[0];
      const NodeId left = is_again ? value : leaf();
      after.steps.push_back(store(vars_.size(), kernel_.values.apply(Op::Sub, left, result)));
      outer.steps.push_back(std::move(after));
    }
    for (size_t i = 0; i < body->result_types.size(); ++i)
      outer.steps.push_back(
          store(kept, kernel_.values.state(static_cast<int>(i), body->result_types[i])));
    kernel_.steps.push_back(std::move(outer));
  }

  std::mt19937 random_;
  Kernel kernel_;
  Type type_;
  std::vector<const Expr*> extents_, vars_;
  const Expr* rows_ = nullptr;
};

template <class T>
void fill(std::vector<char>& bytes, std::mt19937& random, bool is_index) {
  const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e30f};
  for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T value;
    if constexpr (std::is_integral_v<T>)
      // One index in a thousand is out of range.
      value = static_cast<T>(is_index && random() % 1000 ? random() % kRows : random() % 9 - 4);
    else
      value = static_cast<T>(random() % 40 ? static_cast<float>(random() % 2000) / 500 - 2
                                           : special[random() % 6]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}

void fill(const Buffer& buffer, std::vector<char>& bytes, std::mt19937& random) {
  const bool is_index = buffer.name[0] == 'a';
  switch (buffer.dtype) {
    case DType::Float: return fill<float>(bytes, random, false);
    case DType::Double: return fill<double>(bytes, random, false);
    case DType::Half: return fill<Half>(bytes, random, false);
    case DType::BFloat16: return fill<BFloat16>(bytes, random, false);
    case DType::Int64: return fill<int64_t>(bytes, random, is_index);
    case DType::Int32: return fill<int32_t>(bytes, random, false);
    case DType::Int16: return fill<int16_t>(bytes, random, false);
    default:
      for (char& byte : bytes) byte = static_cast<char>(random() % 2);
  }
}

// Equal bits, but for the payload of NaN.
template <class T>
bool same(const char* a, const char* b, size_t bytes) {
  for (size_t i = 0; i < bytes; i += sizeof(T)) {
    T x, y;
    std::memcpy(&x, a + i, sizeof(T));
    std::memcpy(&y, b + i, sizeof(T));
    const double dx = static_cast<double>(static_cast<float>(x));
    const double dy = static_cast<double>(static_cast<float>(y));
    if (std::memcmp(a + i, b + i, sizeof(T)) && !(std::isnan(dx) && std::isnan(dy))) return false;
  }
  return true;
}
bool same(DType dtype, const std::vector<char>& a, const std::vector<char>& b) {
  switch (dtype) {
    case DType::Float: return same<float>(a.data(), b.data(), a.size());
    case DType::Double: return same<double>(a.data(), b.data(), a.size());
    case DType::Half: return same<Half>(a.data(), b.data(), a.size());
    case DType::BFloat16: return same<BFloat16>(a.data(), b.data(), a.size());
    default: return a == b;
  }
}

struct Case {
  Kernel kernel, scheduled;
  bool is_printed;  // the scheduled one too
  std::vector<int64_t> sizes;
};

using Buffers = std::vector<std::vector<char>>;

// Runs a kernel on a copy of the memory: printed where there is a library, interpreted elsewhere.
Buffers run(const Kernel& kernel, const NativeModule* module, const Case& one, Buffers memory,
            int64_t* error) {
  std::vector<char*> ptrs;
  for (std::vector<char>& buffer : memory) ptrs.push_back(buffer.data());
  ptrs.resize(kernel.buffers.size());  // local ones have no memory here
  alignas(16) char scalars[16] = {};
  scalars[0] = 3;
  const auto& loop = std::get<Loop>(kernel.steps[0]);
  const int64_t extent = value_of(kernel, launch_extent(kernel, loop), one.sizes);
  const TileInterpreter interpreter(kernel);
  // In two parts, as threads would share it out.
  for (const auto& [begin, end] :
       {std::pair(int64_t{0}, extent / 3), std::pair(extent / 3, extent)})
    if (!module)
      interpreter.run(0, {ptrs.data(), one.sizes.data(), scalars, error}, begin, end);
    else
      module->function<StageFn>(kernel.name + "_0")(ptrs.data(), one.sizes.data(), scalars, error,
                                                    begin, end);
  return memory;
}

void compare(const Case& one, const NativeModule* module, std::mt19937& random) {
  Buffers before;
  for (const Buffer& buffer : one.kernel.buffers) {
    const int64_t numel = std::max<int64_t>(value_of(one.kernel, buffer.numel, one.sizes), 3);
    before.emplace_back(numel * item_size(buffer.dtype));
    fill(buffer, before.back(), random);
  }
  int64_t error[2] = {};
  const Buffers expected = run(one.kernel, module, one, before, error);
  auto check = [&](const Kernel& kernel, const NativeModule* library, const char* way) {
    int64_t other[2] = {};
    const Buffers after = run(kernel, library, one, before, other);
    EXPECT_EQ(error[0] != 0, other[0] != 0) << way << " " << kernel.name;
    for (size_t i = 0; i < before.size(); ++i)
      EXPECT_TRUE(same(one.kernel.buffers[i].dtype, expected[i], after[i]))
          << one.kernel.buffers[i].name << " differs " << way << " in\n"
          << dump(one.kernel) << dump(kernel);
  };
  check(one.kernel, nullptr, "interpreted");
  check(one.scheduled, nullptr, "scheduled and interpreted");
  if (one.is_printed) check(one.scheduled, module, "scheduled and printed");
}

int number_from(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

TEST(Fuzz, PrintedEqualsInterpreted) {
  const int total = number_from("TAEDA_FUZZ_KERNELS", 25);
  const uint32_t first = number_from("TAEDA_FUZZ_SEED", 1);
  const bool is_printed = number_from("TAEDA_FUZZ_PRINTED", 1) != 0;
  std::mt19937 random(first);
  for (int done = 0; done < total && !HasFailure();) {
    std::vector<Case> cases;
    std::string unit = cpu_prelude();
    for (; cases.size() < 100 && done < total; ++done) {
      Maker maker(first + done);
      Kernel kernel = maker.make();
      ASSERT_NO_THROW(verify(kernel)) << dump(kernel);
      // Through its text, as a kernel from a file would come.
      kernel = parse_kernel(dump(kernel));
      const std::string text = dump(kernel);
      ASSERT_EQ(dump(parse_kernel(text)), text);
      Kernel scheduled = parse_kernel(text);
      scheduled.name += "_scheduled";
      schedule_for_cpu(scheduled);
      unit += print_cpu_kernel(kernel);
      const bool is_second = is_printed && done % 3 == 0;
      if (is_second) unit += print_cpu_kernel(scheduled);
      cases.push_back({std::move(kernel), std::move(scheduled), is_second, maker.sizes});
    }
    const char* optimization = std::getenv("TAEDA_FUZZ_OPTIMIZATION");
    const std::shared_ptr<NativeModule> module =
        is_printed ? compile(unit, optimization ? optimization : "-O2") : nullptr;
    for (const Case& one : cases) compare(one, module.get(), random);
  }
}

}  // namespace
}  // namespace taeda::kernel::test
