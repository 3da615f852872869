// The loop IR: golden dump and the rules of its verifier.
#include <gtest/gtest.h>

#include "taeda/base/error.h"
#include "taeda/kernel/loop_ir.h"

namespace taeda::kernel::test {

// y[i] = sqrt(sum over j of x[i, j]^2)
struct NormKernel {
  ExprGraph graph;
  LoopKernel kernel;

  NormKernel() {
    NodeId x = graph.input(0, Type::F32);
    kernel.name = "row_norm";
    kernel.num_params = 2;
    kernel.num_reduced = 1;
    kernel.axes = {{"i0", Dim::parameter(0)}, {"i1", Dim::parameter(1)}};
    kernel.buffers = {{"y", Type::F32}, {"x", Type::F32}};
    kernel.loads = {{0, {1, {Dim::parameter(1), Dim::constant(1)}, Dim::constant(8)}}};
    kernel.reductions = {{ReduceOp::Sum, graph.apply(Op::Mul, x, x), 1}};
    NodeId root = graph.apply(Op::Sqrt, graph.input(1, Type::F32));
    kernel.stores = {{{0, {Dim::constant(1), Dim::constant(0)}, Dim::constant(0)}, root}};
  }
  std::string error() const {
    try {
      verify(kernel, graph);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

TEST(LoopIr, Dump) {
  NormKernel norm;
  EXPECT_EQ(norm.error(), "");
  EXPECT_EQ(dump(norm.kernel, norm.graph),
            "kernel row_norm(params 2)\n"
            "axis i0 : p0\n"
            "axis i1 : p1 reduce\n"
            "load input 0 = x[8 + i0 * p1 + i1] : f32\n"
            "reduce input 1 = sum %1\n"
            "store y[i0] = %3 : f32\n"
            "%0 = input 0 : f32\n"
            "%1 = mul %0 %0 : f32\n"
            "%2 = input 1 : f32\n"
            "%3 = sqrt %2 : f32\n"
            "return %1 %3\n");
}

TEST(LoopIr, VerifierNamesTheBrokenRule) {
  NormKernel stray;
  stray.kernel.stores[0].access.strides[1] = Dim::constant(1);
  EXPECT_EQ(stray.error(), "[kernel] row_norm stores along the reduced axis i1");
  NormKernel unfilled;
  unfilled.kernel.loads.clear();
  EXPECT_EQ(unfilled.error(), "[kernel] row_norm reads input 0, which nothing fills");
  NormKernel mistyped;
  mistyped.kernel.buffers[0].type = Type::F64;
  EXPECT_EQ(mistyped.error(), "[kernel] row_norm stores f32 into a buffer of f64");
  NormKernel unknown;
  unknown.kernel.num_params = 1;
  EXPECT_EQ(unknown.error(), "[kernel] an extent of row_norm uses parameter 1, but there are 1");
  NormKernel short_access;
  short_access.kernel.loads[0].access.strides.pop_back();
  EXPECT_EQ(short_access.error(), "[kernel] an access of row_norm has 1 strides for 2 axes");
}

}  // namespace taeda::kernel::test
