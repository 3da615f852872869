// The common part of both dialects: types, constants and straight-line definitions of expression
// nodes.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "taeda/base/function_ref.h"
#include "taeda/kernel/expr.h"

namespace taeda::kernel {

// How many elements a printed value holds: one, or the lanes of a register of 4- or 8-byte
// elements. Mixed has the lanes of 4-byte elements, and 8-byte ones in two registers.
enum class Lanes : uint8_t { One, Wide32, Wide64, Mixed };

// The widest form in which all nodes under the roots can be printed together.
Lanes widest_lanes(const ExprGraph& graph, const std::vector<NodeId>& roots);
// The form in which two expressions can be printed together.
Lanes common_lanes(Lanes a, Lanes b);
// Whether values of a type are two registers.
bool is_two(Type type, Lanes lanes);
// The number of lanes as an expression of the CPU dialect.
const char* lane_count(Lanes lanes);
// The spelling of a value's type, and of its elements in memory.
std::string value_type(Type type, Lanes lanes);
std::string element_type(Type type);
// The spelling of a dtype as memory holds it.
std::string stored_name(DType dtype);
// The same value in every lane; `value` is a scalar expression.
std::string broadcast(const std::string& value, Type type, Lanes lanes);

// An operation, conversion or constant over its spelled operands. Names of long functions begin
// with `apart`: Note [Functions apart].
std::string operation_text(const ExprGraph& graph, const Node& node, Lanes lanes,
                           FunctionRef<std::string(int)> arg, const std::string& apart = "");
// Whether an operation is a function of dozens of instructions.
bool is_long(Op op);

// The drawing of an element of the random stream, or of its neighbours too into an array `pack`.
std::string random_text(const Node& node, const std::string& element,
                        FunctionRef<std::string(int)> arg, const std::string& pack = "",
                        const std::string& apart = "");
// The function that draws, and its template argument, which may be empty.
std::pair<std::string, std::string> draw_function(Draw draw);
// How many neighbouring elements are drawn from one block of the stream.
int elements_per_block(Draw draw);

// The nodes under some roots and their names v0, v1, ..., the same for the same expressions.
class NamedNodes {
 public:
  NamedNodes(const ExprGraph& graph, const std::vector<NodeId>& roots);
  std::string operator[](NodeId id) const;
  const ExprGraph& graph() const { return graph_; }
  const std::vector<NodeId>& order() const { return order_; }

 private:
  const ExprGraph& graph_;
  std::vector<NodeId> order_;
  std::unordered_map<NodeId, int> number_;
};

// Lines `const T v7 = ...;` for all nodes; leaf prints inputs and uniforms.
std::string print_definitions(const NamedNodes& nodes, Lanes lanes,
                              FunctionRef<std::string(const Node&)> leaf,
                              const std::string& indent);

}  // namespace taeda::kernel
