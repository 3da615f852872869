// What the inputs of an exported program must be like, found once and checked at every call.
#pragma once

#include <variant>

#include "taeda/export/signature.h"
#include "taeda/export/size_expression.h"
#include "taeda/fx/graph.h"

namespace taeda::exported {

class TAEDA_API InputChecks {
 public:
  InputChecks() = default;
  // From the types that the placeholders of the caller's inputs carry and what the signature says
  // of symbols.
  InputChecks(const fx::Graph& graph, const Signature& signature);

  // AssertionError `Guard failed: x.size()[0] == 2` for the first condition that does not hold,
  // TypeError for another number of inputs. Device indices and strides are not compared.
  void check(const std::vector<fx::Value>& inputs) const;

 private:
  using Size = std::variant<int64_t, SizeExpression>;
  struct Tensors {
    DType dtype;
    DeviceType device;
    std::vector<Size> sizes;
  };
  struct Input {
    std::string name;
    std::variant<Tensors, SizeExpression, fx::Arg> expected;
  };
  struct Binding;

  std::vector<Input> inputs_;
  std::vector<std::pair<std::string, SizeRange>> ranges_;
  std::vector<SizeExpression> conditions_;
};

}  // namespace taeda::exported
