// Prints loads, indices, operations and stores, as scalars or along a vector.
#include "taeda/kernel/print_cpu_values.h"

#include <algorithm>

#include "taeda/base/error.h"
#include "taeda/base/str.h"
#include "taeda/kernel/ir/rewrite.h"
#include "taeda/kernel/print_index.h"

namespace taeda::kernel {

namespace {

// On one thread per element atomics are plain.
std::string combined(StoreMode mode, const std::string& old, const std::string& value) {
  switch (mode) {
    case StoreMode::AtomicMax: return str("td_maximum(", old, ", ", value, ")");
    case StoreMode::AtomicMin: return str("td_minimum(", old, ", ", value, ")");
    case StoreMode::AtomicMul: return str(old, " * ", value);
    default: return str(old, " + ", value);
  }
}

// One value per lane from an expression of `lane`.
std::string each_lane(Type type, Lanes lanes, const std::string& count, const std::string& value) {
  return str(is_two(type, lanes) ? "td_each_two<" : "td_each_lane<",
             value_type(type, is_two(type, lanes) ? Lanes::Wide64 : lanes), ">(", count,
             ", [&](int lane) { return ", value, "; })");
}

// Where an index turns: a quotient, a remainder or an extremum that moves with a variable, the
// innermost of them; null for none.
const Expr* find_turn(const Expr* e, const Expr* var) {
  using symbolic::ExprOp;
  for (const Expr* arg : e->args)
    if (const Expr* found = find_turn(arg, var)) return found;
  const bool can_turn = e->op == ExprOp::FloorDiv || e->op == ExprOp::Mod || e->op == ExprOp::Min ||
                        e->op == ExprOp::Max;
  if (!can_turn || e->kind != SymKind::Int) return nullptr;
  const auto symbols = symbolic::symbols_of(e);
  return std::find(symbols.begin(), symbols.end(), var) != symbols.end() ? e : nullptr;
}

// Pieces of fewer elements would hold no vector.
constexpr int64_t kLeastPiece = 16;

// Integers in fewer bits than they are computed in have ways of their own through memory.
bool is_short_integer(DType dtype, Type type) {
  return type == Type::I64 && is_integral(dtype) && item_size(dtype) < 8;
}

// A row of the random stream as the value of its node.
std::string widened(const Node& node, const std::string& row) {
  return static_cast<Draw>(node.index) == Draw::Word ? str("td_widen<td_i64>(", row, ")") : row;
}

// Calls of long functions that a kernel may take in, of which a random number counts for several.
constexpr int kMostLongCalls = 24, kCallsOfDraw = 3;

// Vectors of random numbers that fill as many blocks of the stream as one has lanes.
constexpr int kRowsOfBlocks = 4;

}  // namespace

CpuValues::CpuValues(const Kernel& kernel)
    : kernel_(kernel), graph_(kernel.values), pool_(*kernel.pool) {
  int count = 0;
  for (NodeId id : graph_.reachable(roots_under(kernel, kernel.steps))) {
    const Node& node = graph_.node(id);
    if (is_long(node.op)) {
      long_ops_.insert(node.op);
      ++count;
    }
    if (node.op == Op::Random) {
      const auto [name, type] = draw_function(static_cast<Draw>(node.index));
      draws_.emplace(name, !type.empty());
      count += kCallsOfDraw;
    }
  }
  if (count > kMostLongCalls) apart_ = kernel.name + "_";
}

std::string CpuValues::functions_text() const {
  std::string text;
  if (apart_.empty()) return text;
  for (const Op op : long_ops_)
    text += str("template <class... V>\n__attribute__((noinline)) static auto ", apart_,
                op_form(op), "(V... v) {\n  return ", op_form(op), "(v...);\n}\n");
  for (const auto& [name, is_typed] : draws_)
    text += str("template <", is_typed ? "class F, " : "", "class Seed, class... V>\n",
                "__attribute__((noinline)) static auto ", apart_, name, "(Seed&& seed, V... v) {\n",
                "  return ", name, is_typed ? "<F>" : "", "(seed, v...);\n}\n");
  if (draws_.empty()) return text;
  for (const char* lanes : {"td_each_lane", "td_each_two"})
    text += str("template <class V, class F>\n__attribute__((noinline)) static auto ", apart_,
                lanes, "(int count, F f) {\n  return ", lanes, "<V>(count, f);\n}\n");
  return text;
}

std::string CpuValues::index(const Expr* at) {
  return print_index(at, [](const Expr* symbol) { return name(symbol); });
}

// ---- what is a vector ----
// Whether an index moves with the vector, directly or through a value.
bool CpuValues::moves(const Expr* at, const CpuPlace& place, const std::set<NodeId>& wide) const {
  for (const Expr* symbol : symbolic::symbols_of(at)) {
    if (symbol == place.var) return true;
    const Indirect* one = graph_.find_indirect(symbol);
    if (one && wide.count(one->value)) return true;
  }
  return false;
}

std::set<NodeId> CpuValues::wide_nodes(const std::vector<NodeId>& order,
                                       const CpuPlace& place) const {
  std::set<NodeId> wide;
  if (!place.is_wide()) return wide;
  for (NodeId id : order) {
    const Node& node = graph_.node(id);
    bool is_wide = node.op == Op::State && place.wide_states.count(node.index);
    if (node.at) is_wide |= moves(node.at, place, wide);
    for (NodeId arg : node.args) is_wide |= arg >= 0 && wide.count(arg);
    if (is_wide) wide.insert(id);
  }
  return wide;
}

// How an index moves along the vector: null where it is not by a constant.
const Expr* CpuValues::vector_stride(const Defined& values, const Expr* at) const {
  for (const Expr* symbol : symbolic::symbols_of(at)) {
    const Indirect* one = graph_.find_indirect(symbol);
    if (one && values.wide.count(one->value)) return nullptr;
  }
  return stride_of(pool_, at, values.place.var);
}

CpuValues::Piece CpuValues::piece_of(const Defined& values, const Expr* at, int copy) const {
  const Expr* turn = find_turn(at, values.place.var);
  return turn ? piece_of(values, at, copy, {}) : Piece();
}

// `kept` has what stands for quotients that stay as they are in the piece.
CpuValues::Piece CpuValues::piece_of(const Defined& values, const Expr* at, int copy,
                                     const symbolic::Replacements& kept) const {
  const Expr* turn = find_turn(at, values.place.var);
  if (!turn) return {vector_stride(values, at), ""};
  const bool is_extremum = turn->op == symbolic::ExprOp::Min || turn->op == symbolic::ExprOp::Max;
  return is_extremum ? piece_of_extremum(values, at, turn, copy, kept)
                     : piece_of_quotient(values, at, turn, copy, kept);
}

// What is left of a multiple of the divisor stays below it up to the last lane.
CpuValues::Piece CpuValues::piece_of_quotient(const Defined& values, const Expr* at,
                                              const Expr* turn, int copy,
                                              symbolic::Replacements kept) const {
  const Expr *a = turn->args[0], *b = turn->args[1];
  const Expr* step = vector_stride(values, a);
  const bool is_short = b->is_constant() && b->value.integer < kLeastPiece;
  if (is_short || !step || !step->is_constant(1) || vector_stride(values, b) != pool_.integer(0))
    return {};
  const Expr* quotient =
      pool_.symbol(str("quotient", kept.size()), SymKind::Int, symbolic::IntRange(), std::nullopt);
  const Expr* whole = pool_.make(symbolic::ExprOp::FloorDiv, a, b);
  const Expr* rest = pool_.subtract(a, pool_.mul(b, quotient));
  const Expr* original = symbolic::substitute(pool_, whole, kept);
  const Expr* first = symbolic::substitute(pool_, pool_.modulo(a, b), kept);
  const std::string is_inside =
      str(copy_index(values, first, copy), " + ", values.place.count(),
          " <= ", copy_index(values, symbolic::substitute(pool_, b, kept), copy));
  kept[quotient] = original;
  Piece piece = piece_of(
      values, symbolic::substitute(pool_, at, {{whole, quotient}, {pool_.modulo(a, b), rest}}),
      copy, kept);
  piece.is_inside = piece.is_inside.empty() ? is_inside : str(is_inside, " && ", piece.is_inside);
  return piece;
}

// One operand is the extremum for the first lane and for the last one.
CpuValues::Piece CpuValues::piece_of_extremum(const Defined& values, const Expr* at,
                                              const Expr* turn, int copy,
                                              const symbolic::Replacements& kept) const {
  for (const Expr* arg : turn->args)
    if (!vector_stride(values, arg)) return {};
  const std::string last = str("(", values.place.count(), " - 1)");
  for (const Expr* arg : turn->args) {
    Piece piece = piece_of(values, symbolic::substitute(pool_, at, {{turn, arg}}), copy, kept);
    if (!piece.stride || !piece.stride->is_constant(1)) continue;
    const Expr* one = symbolic::substitute(pool_, arg, kept);
    const Expr* all = symbolic::substitute(pool_, turn, kept);
    std::string is_inside;
    for (const char* lane : {"", last.c_str()})
      is_inside += str(is_inside.empty() ? "" : " && ", copy_index(values, one, copy, lane),
                       " == ", copy_index(values, all, copy, lane));
    piece.is_inside = piece.is_inside.empty() ? is_inside : str(is_inside, " && ", piece.is_inside);
    return piece;
  }
  return {};
}

int CpuValues::useful_copies(const std::vector<NodeId>& roots,
                             const std::vector<const Expr*>& stores, const CpuPlace& place) const {
  const Defined values{NamedNodes(graph_, roots), {}, place, ""};
  const std::set<NodeId> wide = wide_nodes(values.names.order(), place);
  auto is_dense = [&](const Expr* at) {
    if (!moves(at, place, wide)) return true;
    const Expr* stride = stride_of(pool_, at, place.var);
    return stride && stride->is_constant(1);
  };
  size_t count = 0;
  for (const Expr* at : stores)
    if (!is_dense(at)) return 1;
  for (NodeId id : wide) {
    const Node& node = graph_.node(id);
    if (node.op == Op::Load && (node.args[0] >= 0 || !is_dense(node.at))) return 1;
    count += node.op != Op::Load;
  }
  const bool draws = std::any_of(wide.begin(), wide.end(),
                                 [&](NodeId id) { return graph_.node(id).op == Op::Random; });
  if (draws && count <= 48) return kRowsOfBlocks;
  return count <= 16 ? 4 : count <= 48 ? 2 : 1;
}

// ---- values ----
CpuValues::Defined CpuValues::define(const std::vector<NodeId>& roots, const CpuPlace& place,
                                     const std::string& indent) const {
  Defined values{NamedNodes(graph_, roots), {}, place, ""};
  values.wide = wide_nodes(values.names.order(), place);
  for (NodeId id : values.names.order()) {
    if (place.fixed.count(id)) continue;
    const Node& node = graph_.node(id);
    const bool is_wide = values.wide.count(id) != 0;
    const Lanes lanes = is_wide ? place.lanes : Lanes::One;
    const std::string rows = is_wide ? random_rows(values, node, lanes) : "";
    if (!rows.empty())
      values.text += str(indent, "const auto ", values.names[id], "_rows = ", rows, ";\n");
    for (int k = 0; k < (is_wide ? place.copies : 1); ++k) {
      const int copy = place.first + k;
      const std::string made = rows.empty()
                                   ? value(values, node, lanes, copy)
                                   : widened(node, str(values.names[id], "_rows.row[", k, "]"));
      values.text += str(indent, "const ", value_type(node.type, lanes), " ",
                         spelled(values, id, lanes, copy), " = ", made, ";\n");
      for (const Indirect& one : graph_.indirects())
        if (one.value == id) values.text += indirect(values, one, is_wide, copy, indent);
    }
  }
  return values;
}

std::set<NodeId> CpuValues::fixed_nodes(const std::vector<NodeId>& roots,
                                        const std::set<int>& written, const CpuPlace& place) const {
  const NamedNodes names(graph_, roots);
  const std::set<NodeId> wide = wide_nodes(names.order(), place);
  std::set<NodeId> fixed;
  bool has_loads = false;
  const auto is_checked = [&](NodeId id) {
    for (const Indirect& one : graph_.indirects())
      if (one.value == id) return true;
    return false;
  };
  const auto is_indirect = [&](const Expr* at) {
    for (const Expr* symbol : symbolic::symbols_of(at))
      if (graph_.find_indirect(symbol)) return true;
    return false;
  };
  for (NodeId id : names.order()) {
    const Node& node = graph_.node(id);
    if (wide.count(id) || is_checked(id) || (node.at && is_indirect(node.at))) continue;
    bool is_fixed = node.op != Op::Load || (node.args[0] < 0 && !written.count(node.index));
    for (NodeId arg : node.args) is_fixed &= arg < 0 || fixed.count(arg) != 0;
    if (!is_fixed) continue;
    fixed.insert(id);
    has_loads |= node.op == Op::Load;
  }
  return has_loads ? fixed : std::set<NodeId>();
}

std::string CpuValues::define_fixed(const std::vector<NodeId>& roots, const CpuPlace& place,
                                    const std::string& indent, const std::string& guard) const {
  const Defined values{NamedNodes(graph_, roots), {}, {}, ""};
  std::string text;
  for (NodeId id : values.names.order()) {
    if (!place.fixed.count(id)) continue;
    const Node& node = graph_.node(id);
    const std::string type = value_type(node.type, Lanes::One);
    const bool is_guarded = !guard.empty() && node.op == Op::Load;
    text += str(indent, "const ", type, " ", values.names[id], " = ",
                is_guarded ? str(guard, " ? ") : "", value(values, node, Lanes::One, 0),
                is_guarded ? str(" : ", type, "{}") : "", ";\n");
  }
  return text;
}

std::vector<std::string> CpuValues::fixed_names(const std::vector<NodeId>& roots,
                                                const CpuPlace& place) const {
  const NamedNodes names(graph_, roots);
  std::vector<std::string> found;
  for (NodeId id : names.order())
    if (place.fixed.count(id)) found.push_back(names[id]);
  return found;
}

std::string CpuValues::spelled(const Defined& values, NodeId id, Lanes lanes, int copy) const {
  const std::string text = values.names[id];
  if (values.wide.count(id)) return copy_name(text, copy);
  return lanes == Lanes::One ? text : broadcast(text, graph_.node(id).type, lanes);
}

std::string CpuValues::value(const Defined& values, const Node& node, Lanes lanes, int copy) const {
  auto arg = [&](int i) { return spelled(values, node.args[i], lanes, copy); };
  switch (node.op) {
    case Op::Uniform:
      return str("*(const ", element_type(node.type), "*)((const char*)scalars + ", 16 * node.index,
                 ")");
    case Op::State: return copy_name(str("s", node.index), lanes == Lanes::One ? 0 : copy);
    case Op::Load: return load(values, node, lanes, copy);
    case Op::Index: return index_value(values, node, lanes, copy);
    case Op::Round:
      return str(lanes == Lanes::One ? "td_round_to<" : "td_round_lanes<",
                 stored_name(static_cast<DType>(node.index)), ">(", arg(0), ")");
    case Op::Random: return random(values, node, lanes, copy);
    default: return operation_text(graph_, node, lanes, arg, apart_);
  }
}

// An index of one of the vectors side by side; with `lane`, in one of its lanes.
std::string CpuValues::copy_index(const Defined& values, const Expr* at, int copy,
                                  const char* lane) const {
  return print_index(at, [&](const Expr* symbol) -> std::string {
    if (symbol == values.place.var && (copy || *lane))
      return str("(", name(symbol),
                 copy ? str(" + ", copy, " * ", lane_count(values.place.lanes)) : "",
                 *lane ? str(" + ", lane) : "", ")");
    const Indirect* one = graph_.find_indirect(symbol);
    if (!one || !values.wide.count(one->value)) return name(symbol);
    return str(copy_name(name(symbol), copy), "[", lane, "]");
  });
}

std::string CpuValues::load(const Defined& values, const Node& node, Lanes lanes, int copy) const {
  const std::string stored = stored_name(kernel_.buffers[node.index].dtype);
  const std::string base = str("b", node.index), type = value_type(node.type, Lanes::One);
  const bool is_masked = node.args[0] >= 0;
  auto arg = [&](int i) { return spelled(values, node.args[i], lanes, copy); };
  if (lanes == Lanes::One) {
    const std::string read =
        str("td_read<", stored, ", ", type, ">(", base, ", ", index(node.at), ")");
    return is_masked ? str("(", arg(0), ") ? ", read, " : ", arg(1)) : read;
  }
  if (!is_masked) return load_lanes(values, node, lanes, copy);
  // A mask that is the same in all lanes decides once.
  if (!values.wide.count(node.args[0]))
    return str(values.names[node.args[0]], " ? ", load_lanes(values, node, lanes, copy), " : ",
               arg(1));
  const std::string count = values.place.count();
  const std::string read =
      str("(", arg(0), ")[lane] ? ", load_lane(values, node, copy), " : (", arg(1), ")[lane]");
  // Most vectors lie in a piece of what was joined or padded, or beside it.
  const std::string some = str("td_no_lane(", arg(0), ", ", count, ") ? ", arg(1), " : ",
                               each_lane(node.type, lanes, count, read));
  const Expr* stride = vector_stride(values, node.at);
  if (!stride) stride = piece_of(values, node.at, copy).stride;
  if (!stride || !stride->is_constant(1) || is_two(node.type, lanes)) return some;
  return str("td_all_lanes(", arg(0), ", ", count, ") ? ", load_lanes(values, node, lanes, copy),
             " : ", some);
}

// One lane of a load.
std::string CpuValues::load_lane(const Defined& values, const Node& node, int copy) const {
  const std::string read = str("td_read<", stored_name(kernel_.buffers[node.index].dtype), ", ",
                               value_type(node.type, Lanes::One), ">(b", node.index, ", ",
                               copy_index(values, node.at, copy, "lane"), ")");
  return node.type == Type::Mask ? str("-(td_long)(", read, ")") : read;
}

// All lanes of a load, whatever its mask is.
std::string CpuValues::load_lanes(const Defined& values, const Node& node, Lanes lanes,
                                  int copy) const {
  const std::string stored = stored_name(kernel_.buffers[node.index].dtype);
  const std::string count = values.place.count();
  const bool is_moving = moves(node.at, values.place, values.wide);
  const Expr* stride = is_moving ? vector_stride(values, node.at) : nullptr;
  const std::string where =
      str(">(b", node.index, ", ", copy_index(values, node.at, copy), ", ", count, ")");
  const bool is_short = is_short_integer(kernel_.buffers[node.index].dtype, node.type);
  const std::string neighbours =
      node.type == Type::Mask    ? str("td_read_mask_lanes<", value_type(node.type, lanes), where)
      : is_two(node.type, lanes) ? str(is_short ? "td_read_short_two<" : "td_read_two<", stored,
                                       ", ", value_type(node.type, Lanes::Wide64), where)
                                 : str(is_short ? "td_read_short<" : "td_read_lanes<", stored, ", ",
                                       value_type(node.type, lanes), where);
  if (stride && stride->is_constant(1)) return neighbours;
  const std::string each = each_lane(node.type, lanes, count, load_lane(values, node, copy));
  const Piece piece = is_moving && !stride ? piece_of(values, node.at, copy) : Piece();
  if (!piece.stride || !piece.stride->is_constant(1)) return each;
  return str("(", piece.is_inside, " ? ", neighbours, " : ", each, ")");
}

std::string CpuValues::index_value(const Defined& values, const Node& node, Lanes lanes,
                                   int copy) const {
  const std::string type = value_type(node.type, Lanes::One);
  if (lanes == Lanes::One) return str("(", type, ")", index(node.at));
  const auto ramp = [&](const Expr* stride) {
    return str(is_two(node.type, lanes) ? "td_ramp_two<" : "td_ramp<",
               value_type(node.type, Lanes::Wide64), ">(", copy_index(values, node.at, copy), ", ",
               index(stride), ")");
  };
  const Expr* stride = vector_stride(values, node.at);
  if (stride && node.type == Type::I64) return ramp(stride);
  const std::string each =
      each_lane(node.type, lanes, values.place.count(),
                str("(", type, ")", copy_index(values, node.at, copy, "lane")));
  const Piece piece = node.type == Type::I64 ? piece_of(values, node.at, copy) : Piece();
  if (!piece.stride || !piece.stride->is_constant(1)) return each;
  return str("(", piece.is_inside, " ? ", ramp(piece.stride), " : ", each, ")");
}

// Rows of neighbours of the random stream; an empty text where there are none.
std::string CpuValues::random_row(const Defined& values, const Node& node, Lanes lanes, int copy,
                                  const char* rows) const {
  const Draw draw = static_cast<Draw>(node.index);
  const bool is_word = draw == Draw::Word && lanes == Lanes::Mixed;
  const bool is_row = apart_.empty() && lanes != Lanes::Wide64 &&
                      (is_word || node.type == Type::F32) && !values.wide.count(node.args[0]) &&
                      !values.wide.count(node.args[1]) && moves(node.at, values.place, values.wide);
  const Expr* stride = is_row ? vector_stride(values, node.at) : nullptr;
  if (!stride || !stride->is_constant(1)) return "";
  const auto arg = [&](int i) { return spelled(values, node.args[i], Lanes::One, copy); };
  const std::string where =
      str(rows, "(", arg(0), ", ", arg(1), ", ", copy_index(values, node.at, copy));
  if (is_word) return str("td_draw_word", where, ")");
  if (draw == Draw::Normal) return str("td_draw_normal", where, ")");
  return str("td_draw_uniform", where, ", ", uniform_bits(draw), ")");
}

// All vectors side by side, whose rows follow each other; an empty text where they are not drawn
// so.
std::string CpuValues::random_rows(const Defined& values, const Node& node, Lanes lanes) const {
  if (node.op != Op::Random || values.place.copies != kRowsOfBlocks) return "";
  return random_row(values, node, lanes, values.place.first, "_rows");
}

// An element of the random stream; lanes of one block draw it once.
std::string CpuValues::random(const Defined& values, const Node& node, Lanes lanes,
                              int copy) const {
  const auto arg = [&](int i) {
    const std::string text = spelled(values, node.args[i], Lanes::One, copy);
    return values.wide.count(node.args[i]) ? text + "[lane]" : text;
  };
  if (lanes == Lanes::One) return random_text(node, index(node.at), arg, "", apart_);
  if (const std::string row = random_row(values, node, lanes, copy, "_row"); !row.empty())
    return widened(node, row);
  const auto drawn = [&](int i) {
    return i == 0 && !values.wide.count(node.args[0]) ? std::string("drawn") : arg(i);
  };
  const std::string each =
      apart_ +
      each_lane(node.type, lanes, values.place.count(),
                random_text(node, copy_index(values, node.at, copy, "lane"), drawn, "", apart_));
  if (values.wide.count(node.args[0])) return each;
  return str("[&] { td_kept_block drawn = {", arg(0), "}; return ", each, "; }()");
}

// The checked index of an indirect access. One out of range is reported and read as 0.
std::string CpuValues::indirect(const Defined& values, const Indirect& one, bool is_wide, int copy,
                                const std::string& indent) const {
  const size_t number = &one - graph_.indirects().data();
  auto checked = [&](const std::string& value) {
    return str("td_checked_index(", value, ", ", index(one.extent), ", ",
               one.wraps ? "true" : "false", ", error, ", number + 1, ")");
  };
  const Lanes lanes = is_wide ? values.place.lanes : Lanes::One;
  const std::string value = spelled(values, one.value, lanes, copy);
  if (!is_wide)
    return str(indent, "const td_long ", name(one.symbol), " = ", checked(value), ";\n", indent,
               "(void)", name(one.symbol), ";\n");
  return str(indent, "const auto ", copy_name(name(one.symbol), copy), " = td_checked_lanes(",
             value, ", ", index(one.extent), ", ", one.wraps ? "true" : "false", ", error, ",
             number + 1, ", ", values.place.count(), ");\n");
}

// ---- stores ----
std::string CpuValues::write(const Store& store, const std::string& at, std::string value) const {
  const std::string stored = stored_name(kernel_.buffers[store.buffer].dtype);
  const std::string one = value_type(graph_.node(store.value).type, Lanes::One);
  const std::string base = str("b", store.buffer);
  if (store.mode != StoreMode::Write)
    value =
        combined(store.mode, str("td_read<", stored, ", ", one, ">(", base, ", ", at, ")"), value);
  return str("td_write<", stored, ", ", one, ">(", base, ", ", at, ", ", value, ");\n");
}

std::string CpuValues::store(const Defined& values, const Store& store,
                             const std::string& indent) const {
  const CpuPlace& place = values.place;
  if (!place.is_wide() || !moves(store.at, place, values.wide)) {
    const std::string guard =
        store.mask >= 0 ? str("if (", values.names[store.mask], ") ") : std::string();
    return str(indent, guard, write(store, index(store.at), values.names[store.value]));
  }
  std::string text;
  for (int k = 0; k < place.copies; ++k)
    text += indent + store_lanes(values, store, place.first + k);
  return text;
}

std::string CpuValues::store_lanes(const Defined& values, const Store& store, int copy) const {
  const CpuPlace& place = values.place;
  const Type type = graph_.node(store.value).type;
  const std::string value = spelled(values, store.value, place.lanes, copy);
  const std::string count = place.count();
  const Expr* stride = vector_stride(values, store.at);
  const bool is_sum = store.mode == StoreMode::Add || store.mode == StoreMode::AtomicAdd;
  if (store.mask < 0 && (is_sum || store.mode == StoreMode::Write) && stride &&
      stride->is_constant(1)) {
    // Lanes beside each other do not meet, so that all are combined at once.
    const std::string stored = stored_name(kernel_.buffers[store.buffer].dtype);
    const std::string at = copy_index(values, store.at, copy);
    const bool is_two_wide = is_two(type, place.lanes);
    const std::string old = str(is_two_wide ? "td_read_two<" : "td_read_lanes<", stored, ", ",
                                value_type(type, is_two_wide ? Lanes::Wide64 : place.lanes), ">(b",
                                store.buffer, ", ", at, ", ", count, ")");
    const std::string made =
        store.mode == StoreMode::Write ? value : combined(store.mode, old, value);
    const std::string what = str("(b", store.buffer, ", ", at, ", ", made, ", ", count, ");\n");
    if (type == Type::Mask) return "td_write_mask_lanes" + what;
    const bool is_short = is_short_integer(kernel_.buffers[store.buffer].dtype, type);
    return str(is_short ? "td_write_short" : "td_write",
               is_two_wide ? "_two<"
               : is_short  ? "<"
                           : "_lanes<",
               stored, ">", what);
  }
  const std::string guard =
      store.mask >= 0 ? str("if ((", spelled(values, store.mask, place.lanes, copy), ")[lane]) ")
                      : std::string();
  std::string element = str("(", value, ")[lane]");
  if (type == Type::Mask) element += " != 0";
  return str("for (int lane = 0; lane < ", count, "; ++lane) ", guard,
             write(store, copy_index(values, store.at, copy, "lane"), element));
}

}  // namespace taeda::kernel
