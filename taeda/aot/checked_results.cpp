// Results of compilers, counted.
#include "taeda/aot/checked_results.h"

#include "taeda/base/error.h"

namespace taeda::aot {

using fx::Value;

namespace {

Span<fx::Arg> results_of(const fx::Graph& graph) {
  return graph.output_node()->args().at(0).compound()->items;
}

}  // namespace

fx::CompiledFn compile_forward(const fx::CompilerFn& compiler, const fx::Graph& graph,
                               fx::AttributeReader attributes) {
  std::vector<bool> is_tensor;
  for (const fx::Arg& result : results_of(graph))
    is_tensor.push_back(result.node() && result.node()->val().is<Tensor>());
  return [run = compiler(graph, attributes),
          is_tensor = std::move(is_tensor)](const std::vector<Value>& inputs) {
    std::vector<Value> results = run(inputs);
    TAEDA_CHECK_KIND(ErrorKind::Assertion, results.size() == is_tensor.size(), "expected ",
                     is_tensor.size(), " outputs, got ", results.size());
    for (size_t i = 0; i < results.size(); ++i)
      TAEDA_CHECK_KIND(ErrorKind::Assertion, !is_tensor[i] || results[i].is<Tensor>(), "output ", i,
                       " of a compiled graph: got ", results[i].kind_name(), ", expected a Tensor");
    return results;
  };
}

fx::CompiledFn compile_backward(const fx::CompilerFn& compiler, const fx::Graph& graph,
                                fx::AttributeReader attributes) {
  const size_t count = results_of(graph).size();
  return [run = compiler(graph, attributes), count](const std::vector<Value>& inputs) {
    std::vector<Value> results = run(inputs);
    TAEDA_CHECK(results.size() == count,
                "function CompiledFunctionBackward returned an incorrect number of gradients "
                "(expected ",
                count, ", got ", results.size(), ")");
    for (const Value& v : results)
      TAEDA_CHECK(v.is<Tensor>() || v.is_none(), "expected Variable or None (got ", v.kind_name(),
                  ")");
    return results;
  };
}

}  // namespace taeda::aot
