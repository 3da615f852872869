// einsum: reads the equation, brings every operand to one order of subscripts, contracts pairs with
// matmul.
#include <algorithm>
#include <array>

#include "taeda/ops/functions.h"
#include "taeda/ops/linalg/declarations.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

constexpr int kLabels = 52;
constexpr int kEllipsis = kLabels;

bool is_label(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
int label_of(char c) { return c <= 'Z' ? c - 'A' : c - 'a' + 26; }
char char_of(int label) { return static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26); }

using Labels = SmallVector<int, 8>;

// The equation as written: subscripts of each operand and of the output.
struct Equation {
  std::vector<Labels> inputs;
  Labels output;
  bool has_arrow = false;

  Equation(std::string_view text, size_t num_operands) {
    const size_t arrow = text.find("->");
    has_arrow = arrow != text.npos;
    const std::string_view left = text.substr(0, arrow);
    size_t operand = 0;
    bool has_ellipsis = false;
    inputs.emplace_back();
    for (size_t i = 0; i < left.size(); ++i) {
      const char c = left[i];
      if (c == ' ') continue;
      if (c == ',') {
        ++operand;
        TAEDA_CHECK(operand < num_operands,
                    "einsum(): fewer operands were provided than specified in the equation");
        inputs.emplace_back();
        has_ellipsis = false;
      } else if (c == '.') {
        TAEDA_CHECK(!has_ellipsis, "einsum(): found '.' for operand ", operand,
                    " for which an ellipsis was already found");
        TAEDA_CHECK(left.substr(i, 3) == "...", "einsum(): found '.' for operand ", operand,
                    " that is not part of any ellipsis");
        inputs[operand].push_back(kEllipsis);
        i += 2;
        has_ellipsis = true;
      } else {
        check_label(c, i);
        inputs[operand].push_back(label_of(c));
      }
    }
    TAEDA_CHECK(operand == num_operands - 1,
                "einsum(): more operands were provided than specified in the equation");
    if (has_arrow) read_output(text, arrow + 2);
  }

 private:
  static void check_label(char c, size_t at) {
    TAEDA_CHECK(is_label(c), "einsum(): invalid subscript given at index ", at,
                " in the equation string, subscripts must be in [a-zA-Z]");
  }
  void read_output(std::string_view text, size_t from) {
    bool has_ellipsis = false;
    for (size_t i = from; i < text.size(); ++i) {
      const char c = text[i];
      if (c == ' ') continue;
      if (c == '.') {
        TAEDA_CHECK(!has_ellipsis,
                    "einsum(): found '.' for output but an ellipsis (...) was already found");
        TAEDA_CHECK(text.substr(i, 3) == "...",
                    "einsum(): found '.' for output that is not part of any ellipsis (...)");
        output.push_back(kEllipsis);
        i += 2;
        has_ellipsis = true;
      } else {
        check_label(c, i);
        output.push_back(label_of(c));
      }
    }
  }
};

// One order of dimensions for all operands: the output's, then those that are summed.
struct Order {
  std::array<int64_t, kLabels + 1> position;  // of a label's (first) dimension; -1: unused
  std::array<int64_t, kLabels> count{};       // how often a label appears
  int64_t ellipsis_dims = 0;
  int64_t out_dims = 0, all_dims = 0;

  Order(const Equation& eq, TensorList operands) {
    position.fill(-1);
    for (size_t i = 0; i < operands.size(); ++i) {
      const Labels& labels = eq.inputs[i];
      const bool has_ellipsis = std::find(labels.begin(), labels.end(), kEllipsis) != labels.end();
      const int64_t named = static_cast<int64_t>(labels.size()) - has_ellipsis,
                    ndim = operands[i].dim();
      if (has_ellipsis) {
        TAEDA_CHECK(named <= ndim, "einsum(): the number of subscripts in the equation (", named,
                    ") is more than the number of dimensions (", ndim, ") for operand ", i);
        ellipsis_dims = std::max(ellipsis_dims, ndim - named);
      } else {
        TAEDA_CHECK(named == ndim, "einsum(): the number of subscripts in the equation (", named,
                    ") does not match the number of dimensions (", ndim, ") for operand ", i,
                    " and no ellipsis was given");
      }
      for (int l : labels)
        if (l != kEllipsis) ++count[l];
    }
    if (eq.has_arrow)
      place_output(eq.output);
    else {
      place(kEllipsis);
      for (int l = 0; l < kLabels; ++l)
        if (count[l] == 1) place(l);
    }
    out_dims = all_dims;
    if (position[kEllipsis] < 0) place(kEllipsis);
    for (int l = 0; l < kLabels; ++l)
      if (count[l] && position[l] < 0) place(l);
  }

 private:
  void place(int label) {
    position[label] = all_dims;
    all_dims += label == kEllipsis ? ellipsis_dims : 1;
  }
  void place_output(const Labels& output) {
    for (int l : output) {
      if (l != kEllipsis) {
        TAEDA_CHECK(position[l] < 0, "einsum(): output subscript ", char_of(l),
                    " appears more than once in the output");
        TAEDA_CHECK(count[l], "einsum(): output subscript ", char_of(l),
                    " does not appear in the equation for any input operand");
      }
      place(l);
    }
  }
};

// Checks that sizes agree between operands, in PyTorch's words.
class Sizes {
 public:
  explicit Sizes(const Order& order)
      : order_(order), sizes_(static_cast<size_t>(order.all_dims), SymInt(1)) {}
  void add(const Labels& labels, const Tensor& t, size_t operand) {
    int64_t d = 0;
    for (int l : labels) {
      if (l == kEllipsis) {
        const int64_t covered = t.dim() - (static_cast<int64_t>(labels.size()) - 1);
        for (int64_t j = 0; j < covered; ++j, ++d) {
          SymInt& seen = sizes_[order_.position[kEllipsis] + order_.ellipsis_dims - covered + j];
          const SymInt size = t.sym_sizes()[d];
          TAEDA_CHECK(seen == SymInt(1) || size == SymInt(1) || seen == size,
                      "einsum(): dimension ", d, " covered by ellipsis in operand ", operand,
                      "has size ", size,
                      " which does not broadcast with previously seen ellipsis with size ", seen,
                      " for the respective dimension");
          if (seen == SymInt(1)) seen = size;
        }
        continue;
      }
      SymInt& seen = sizes_[order_.position[l]];
      const SymInt size = t.sym_sizes()[d++];
      TAEDA_CHECK(seen == SymInt(1) || size == SymInt(1) || seen == size, "einsum(): subscript ",
                  char_of(l), " has size ", size, " for operand ", operand,
                  " which does not broadcast with previously seen size ", seen);
      if (seen == SymInt(1)) seen = size;
    }
  }

 private:
  const Order& order_;
  SmallVector<SymInt, 8> sizes_;
};

// The operand with its dimensions in the common order, size one where it has none.
Tensor in_order(const Tensor& operand, const Labels& labels, const Order& order, size_t index) {
  Tensor t = operand;
  std::vector<int64_t> source(static_cast<size_t>(order.all_dims), -1);
  int64_t d = 0;
  for (int l : labels) {
    if (l == kEllipsis) {
      const int64_t covered = operand.dim() - (static_cast<int64_t>(labels.size()) - 1);
      for (int64_t j = 0; j < covered; ++j)
        source[order.position[l] + order.ellipsis_dims - covered + j] = d++;
    } else if (int64_t& first = source[order.position[l]]; first >= 0) {
      // A repeated subscript walks the diagonal; `diagonal` puts it last.
      TAEDA_CHECK(t.sym_size(d) == t.sym_size(first), "einsum(): subscript ", char_of(l),
                  " is repeated for operand ", index, " but the sizes don't match, ", t.sym_size(d),
                  " != ", t.sym_size(first));
      t = t.diagonal(0, first, d);
      IntVec back;
      for (int64_t i = 0; i < t.dim(); ++i)
        back.push_back(i < first ? i : i == first ? t.dim() - 1 : i - 1);
      t = t.permute(back);
    } else {
      first = d++;
    }
  }
  IntVec permutation;
  for (int64_t s : source)
    if (s >= 0) permutation.push_back(s);
  t = t.permute(permutation);
  for (size_t i = 0; i < source.size(); ++i)
    if (source[i] < 0) t = t.unsqueeze(static_cast<int64_t>(i));
  return t;
}

SymInt product_of(const SymIntVec& sizes) {
  SymInt n = 1;
  for (const SymInt& s : sizes) n *= s;
  return n;
}

// Sum of left * right over the dimensions in `summed`, which stay with size one.
Tensor contract(const Tensor& left, const Tensor& right, const std::vector<bool>& summed) {
  if (std::find(summed.begin(), summed.end(), true) == summed.end()) return left.mul(right);
  IntVec shared, only_left, only_right, sum_dims;
  SymIntVec left_sizes, sum_sizes, right_sizes, shared_sizes;
  for (int64_t d = 0; d < left.dim(); ++d) {
    const SymInt l = left.sym_sizes()[d], r = right.sym_sizes()[d];
    if (summed[d]) {
      sum_dims.push_back(d);
      sum_sizes.push_back(l);
    } else if (l != SymInt(1) && r != SymInt(1)) {
      shared.push_back(d);
      shared_sizes.push_back(l);
    } else if (l != SymInt(1)) {
      only_left.push_back(d);
      left_sizes.push_back(l);
    } else {
      only_right.push_back(d);
      right_sizes.push_back(r);
    }
  }
  const auto joined = [](std::initializer_list<const IntVec*> parts) {
    IntVec all;
    for (const IntVec* p : parts)
      for (int64_t d : *p) all.push_back(d);
    return all;
  };
  SymIntVec a_sizes(shared_sizes), b_sizes(shared_sizes), sizes(shared_sizes);
  a_sizes.push_back(product_of(left_sizes));
  a_sizes.push_back(product_of(sum_sizes));
  b_sizes.push_back(product_of(sum_sizes));
  b_sizes.push_back(product_of(right_sizes));
  const Tensor a =
      left.permute(joined({&shared, &only_left, &sum_dims, &only_right})).reshape(a_sizes);
  const Tensor b =
      right.permute(joined({&shared, &sum_dims, &only_right, &only_left})).reshape(b_sizes);
  for (const SymInt& s : left_sizes) sizes.push_back(s);
  for (size_t i = 0; i < sum_dims.size(); ++i) sizes.push_back(1);
  for (const SymInt& s : right_sizes) sizes.push_back(s);
  const IntVec order = joined({&shared, &only_left, &sum_dims, &only_right});
  IntVec back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<int64_t>(i);
  // One batch even without shared subscripts, so that types without products are named as bmm names
  // them.
  const Tensor product = shared.empty() ? a.unsqueeze(0).bmm(b.unsqueeze(0)) : a.matmul(b);
  return product.reshape(sizes).permute(back);
}

}  // namespace

Tensor einsum(std::string_view equation, TensorList tensors, std::optional<IntList> path) {
  TAEDA_CHECK(!tensors.empty(), "einsum(): must provide at least one operand");
  const Equation eq(equation, tensors.size());
  const Order order(eq, tensors);
  Sizes sizes(order);
  std::vector<Tensor> operands;
  std::vector<int64_t> users(static_cast<size_t>(order.all_dims),
                             0);  // operands that have the dimension
  for (size_t i = 0; i < tensors.size(); ++i) {
    operands.push_back(in_order(tensors[i], eq.inputs[i], order, i));
    sizes.add(eq.inputs[i], tensors[i], i);
    for (int64_t d = order.out_dims; d < order.all_dims; ++d)
      users[d] += operands.back().sym_sizes()[d] != SymInt(1);
  }
  TAEDA_CHECK(!path || path->size() == 2 * (tensors.size() - 1) || tensors.size() == 1,
              "einsum(): expected contraction path given in path parameter to have size ",
              2 * (tensors.size() - 1), " but got ", path ? path->size() : 0);
  for (size_t step = 0; operands.size() > 1; ++step) {
    int64_t i = path ? (*path)[2 * step] : 0, j = path ? (*path)[2 * step + 1] : 1;
    const int64_t count = static_cast<int64_t>(operands.size());
    TAEDA_CHECK(i >= 0 && i < count && j >= 0 && j < count && i != j,
                "einsum(): invalid contraction path: got (", i, ", ", j, ") with ", count,
                " operands left");
    if (i > j && path) std::swap(i, j);
    Tensor a = operands[i], b = operands[j];
    operands.erase(operands.begin() + j);
    operands.erase(operands.begin() + i);
    std::vector<bool> summed(static_cast<size_t>(order.all_dims), false);
    IntVec sum_a, sum_b;
    for (int64_t d = order.out_dims; d < order.all_dims; ++d) {
      const bool in_a = a.sym_sizes()[d] != SymInt(1), in_b = b.sym_sizes()[d] != SymInt(1);
      if (in_a && in_b) {
        if (--users[d] == 1) {
          summed[d] = true;
          users[d] = 0;
        }
      } else if (users[d] == 1 && (in_a || in_b)) {
        (in_a ? sum_a : sum_b).push_back(d);
        users[d] = 0;
      }
    }
    if (!sum_a.empty()) a = a.sum(IntList(sum_a), true, a.dtype());
    if (!sum_b.empty()) b = b.sum(IntList(sum_b), true, b.dtype());
    const Tensor result = contract(a, b, summed);
    if (path)
      operands.push_back(result);
    else
      operands.insert(operands.begin(), result);
  }
  Tensor result = operands[0];
  if (order.all_dims == order.out_dims) return result;
  IntVec rest;
  for (int64_t d = order.out_dims; d < order.all_dims; ++d) rest.push_back(d);
  if (tensors.size() == 1) return result.sum(IntList(rest));
  SymIntVec out_sizes(SymIntList(result.sym_sizes().data(), static_cast<size_t>(order.out_dims)));
  return result.reshape(out_sizes);
}

}  // namespace taeda::impl
