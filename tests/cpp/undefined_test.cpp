// Undefined tensors: every question and every operator raises, none crashes.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "taeda/taeda.h"

namespace taeda {
namespace {

TEST(Undefined, QuestionsAndOperatorsRaise) {
  const Tensor none;
  const Tensor x = ones({2, 2});
  struct Call {
    const char* name;
    std::function<void()> run;
  };
  const std::vector<Call> calls = {
      {"sizes", [&] { none.sizes(); }},
      {"dim", [&] { none.dim(); }},
      {"numel", [&] { none.numel(); }},
      {"dtype", [&] { none.dtype(); }},
      {"device", [&] { none.device(); }},
      {"options", [&] { none.options(); }},
      {"size", [&] { none.size(0); }},
      {"is_contiguous", [&] { none.is_contiguous(); }},
      {"data_ptr", [&] { none.data_ptr<float>(); }},
      {"accessor", [&] { none.accessor<float, 2>(); }},
      {"item", [&] { none.item<float>(); }},
      {"sum", [&] { none.sum(); }},
      {"view", [&] { none.view({1}); }},
      {"index", [&] { none[0]; }},
      {"index by it", [&] { x.index({none}); }},
      {"to", [&] { none.to(DType::Double); }},
      {"clone", [&] { none.clone(); }},
      {"detach", [&] { none.detach(); }},
      {"contiguous", [&] { none.contiguous(); }},
      {"equal", [&] { equal(none, x); }},
      {"matmul", [&] { matmul(x, none); }},
      {"matmul of it", [&] { matmul(none, x); }},
      {"cat", [&] { cat({x, none}); }},
      {"copy_", [&] { x.copy_(none); }},
      {"+=",
       [&] {
         Tensor y = x.clone();
         y += none;
       }},
      {"add_out",
       [&] {
         Tensor y;
         add_out(y, x, x);
       }},
      {"zeros_like", [&] { zeros_like(none); }},
      {"requires_grad_",
       [&] {
         Tensor y;
         y.requires_grad_();
       }},
      {"softmax", [&] { softmax(none, 0); }},
      {"sort", [&] { sort(none); }},
  };
  for (const Call& call : calls) EXPECT_THROW(call.run(), Error) << call.name;
}

TEST(Numbers, WideIntegersConvertAndNarrowOnesAreChecked) {
  const long long n = 3;
  const unsigned u = 2;
  EXPECT_EQ(zeros({n, 2}).sizes(), (IntList{3, 2}));
  EXPECT_EQ((ones({1}) * n + u).item<float>(), 5);
  EXPECT_EQ(tensor({-7}).item<int8_t>(), -7);
  for (auto run : std::vector<std::function<void()>>{
           [] { tensor({300}).item<int8_t>(); }, [] { tensor({-1}).item<uint8_t>(); },
           [] { tensor({int64_t{1} << 40}).item<int>(); }})
    EXPECT_THROW(run(), Error);
}

}  // namespace
}  // namespace taeda
