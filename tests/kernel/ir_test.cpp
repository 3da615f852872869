// The kernel IR: its text both ways, and a table of kernels that the verifier refuses.
#include <gtest/gtest.h>

#include "taeda/base/error.h"
#include "taeda/kernel/ir/identity.h"
#include "taeda/kernel/ir/text.h"
#include "tests/kernel/kernels.h"

namespace taeda::kernel::test {
namespace {

TEST(KernelText, PrintedKernelsReadAsThemselves) {
  for (const char* text :
       {kMixed, kRowSum, kColumnSum, kSoftmax, kLayerNorm, kArgMax, kCumsum, kGather, kSwapPairs}) {
    const Kernel kernel = parse_kernel(text);
    EXPECT_NO_THROW(verify(kernel));
    EXPECT_EQ(dump(kernel), text);
    EXPECT_EQ(dump(parse_kernel(dump(kernel))), text);
  }
}

TEST(KernelText, EveryKindOfConstant) {
  const std::string text = R"(kernel constants(n)
  buffer y complex128[n] align 64
  buffer scratch float32[n] local alias 3
  value %0 = constant 0.10000000000000001 -0 : c128
  value %1 = constant inf nan : c128
  value %2 = add %0 %1 : c128
  value %3 = constant -9223372036854775808 : i64
  value %4 = cast %3 : f32
  value %5 = constant 18446744073709551615 : u64
  value %6 = cast %5 : f32
  value %7 = add %4 %6 : f32
  value %8 = constant -2147483648 : i32
  value %9 = cast %8 : f32
  value %10 = add %7 %9 : f32
  value %11 = uniform 1 : u64
  value %12 = uniform 2 : u64
  value %13 = random word [i] %11 %12 : i64
  value %14 = cast %13 : f32
  value %15 = add %10 %14 : f32
  value %16 = constant true : mask
  loop i < n
    store y[i] = %2
    atomic_max scratch[i] = %15 if %16
)";
  EXPECT_EQ(dump(parse_kernel(text)), text);
}

std::string error_of(const std::string& text, bool verifies) {
  try {
    const Kernel kernel = parse_kernel(text);
    if (verifies) verify(kernel);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

struct Broken {
  const char* text;
  const char* message;
};

TEST(KernelText, UnreadableTextsNameTheLine) {
  const Broken cases[] = {
      {"", "[kernel] line 1: no kernel"},
      {"graph f()", "[kernel] line 1: expected 'kernel ' before 'graph f()'"},
      {"kernel f(n\n", "[kernel] line 1: expected a word before ''"},
      {"kernel f()\n  buffer x float33[1]", "[kernel] line 2: there is no dtype float33"},
      {"kernel f()\n  buffer x float32[1] far", "[kernel] line 2: a buffer has no 'far'"},
      {"kernel f()\n  buffer x float32[1", "[kernel] line 2: expected ']' before ''"},
      {"kernel f()\n  value %0 = load x[0] : f32", "[kernel] line 2: there is no buffer x"},
      {"kernel f()\n  value %0 = add %1 %2 : f32", "[kernel] line 2: there is no value %1"},
      {"kernel f()\n  value %0 = frob 1 : f32", "[kernel] line 2: there is no operation frob"},
      {"kernel f()\n  value %0 = constant 1 : f16", "[kernel] line 2: there is no type f16"},
      {"kernel f()\n  value %0 = constant 1 2 : f32", "[kernel] line 2: '2' is left over"},
      {"kernel f()\n  value %0 = constant one : f32",
       "[kernel] line 2: 'one' is no constant of type f32"},
      {"kernel f()\n  value %0 = constant 1.5 : i64",
       "[kernel] line 2: '1.5' is no constant of type i64"},
      {"kernel f()\n  value %0 = constant 9223372036854775808 : i64",
       "[kernel] line 2: '9223372036854775808' is no constant of type i64"},
      {"kernel f()\n  value %0 = constant 2147483648 : i32",
       "[kernel] line 2: '2147483648' is no constant of type i32"},
      {"kernel f()\n  value %0 = constant -1 : u64",
       "[kernel] line 2: '-1' is no constant of type u64"},
      {"kernel f()\n  value %0 = constant yes : mask",
       "[kernel] line 2: 'yes' is no constant of type mask"},
      {"kernel f()\n  loop i < 3\n    leap x[i] = %0", "[kernel] line 3: there is no step leap"},
  };
  for (const Broken& one : cases) EXPECT_EQ(error_of(one.text, false), one.message) << one.text;
}

// A kernel that is right but for one thing: values and steps of the case between common lines.
std::string around(const std::string& lines) {
  return "kernel f(n, m)\n  buffer y float32[n]\n  buffer x float32[n]\n  buffer k int64[n]\n"
         "  buffer flags bool[n]\n  buffer row float32[m] local\n"
         "  value %0 = load x[i] : f32\n  value %1 = constant 1 : f32\n" +
         lines;
}

TEST(KernelIdentity, FollowsFromEverythingButTheName) {
  Kernel kernel = parse_kernel(kSoftmax);
  const std::string before = identity_of(kernel);
  kernel.name = "other";
  EXPECT_EQ(identity_of(kernel), before);
  const auto differs_while = [&](auto& field, auto other) {
    const auto kept = field;
    field = other;
    const bool differs = identity_of(kernel) != before;
    field = kept;
    return differs && identity_of(kernel) == before;
  };
  EXPECT_TRUE(differs_while(kernel.params[0], kernel.params[1]));
  EXPECT_TRUE(differs_while(kernel.buffers[0].dtype, DType::Double));
  EXPECT_TRUE(differs_while(kernel.buffers[0].numel, kernel.params[0]));
  EXPECT_TRUE(differs_while(kernel.buffers[0].space, Space::Local));
  EXPECT_TRUE(differs_while(kernel.buffers[0].alignment, 64));
  EXPECT_TRUE(differs_while(kernel.buffers[0].alias_class, 1));
  Loop& outer = std::get<Loop>(kernel.steps[0]);
  EXPECT_TRUE(differs_while(outer.axes[0].extent, kernel.params[1]));
  EXPECT_TRUE(differs_while(outer.axes[0].binding, Binding::Serial));
  Loop& first = std::get<Loop>(outer.steps[0]);
  EXPECT_TRUE(differs_while(first.axes[0].role, Role::Kept));
  Reduce& reduce = std::get<Reduce>(first.steps[0]);
  EXPECT_TRUE(differs_while(reduce.body, find_reduce_body("sum", Type::F32)));
  EXPECT_TRUE(differs_while(reduce.values[0], NodeId(1)));
  EXPECT_TRUE(differs_while(reduce.part, Part::Partial));
  Store& store = std::get<Store>(std::get<Loop>(outer.steps.back()).steps[0]);
  EXPECT_TRUE(differs_while(store.buffer, 1));
  EXPECT_TRUE(differs_while(store.at, kernel.params[0]));
  EXPECT_TRUE(differs_while(store.value, NodeId(0)));
  EXPECT_TRUE(differs_while(store.mode, StoreMode::Add));
  outer.steps.pop_back();
  EXPECT_NE(identity_of(kernel), before);
}

TEST(KernelIdentity, HasTheValues) {
  Kernel kernel = parse_kernel(kRowSum);
  const std::string before = identity_of(kernel);
  kernel.values.apply(Op::Exp, 0);
  EXPECT_NE(identity_of(kernel), before);
}

TEST(Verifier, NamesTheRuleThatIsBroken) {
  const Broken cases[] = {
      {"", "[kernel] f has no loop"},
      {"  store y[0] = %1\n", "[kernel] f has a step outside of all loops"},
      {"  loop i < n\n", "[kernel] a loop of f does nothing"},
      {"  loop i < q\n    store y[i] = %0\n", "[kernel] an extent uses q, which is not in scope"},
      {"  loop n < m\n    store y[n] = %1\n", "[kernel] n is declared twice"},
      {"  loop i < n\n    loop i < m\n      store y[i] = %1\n", "[kernel] i is declared twice"},
      {"  loop j < n\n    store y[j] = %0\n",
       "[kernel] an index of x uses i, which is not in scope"},
      {"  loop i < n\n    store y[z] = %0\n",
       "[kernel] an index of y uses z, which is not in scope"},
      {"  loop i < n\n    store y[-i - 1] = %0\n", "[kernel] an index of y is negative: -i - 1"},
      {"  loop i < n\n    store k[i] = %0\n", "[kernel] f stores f32 into buffer k of int64"},
      {"  value %2 = load k[i] : f32\n  loop i < n\n    store y[i] = %2\n",
       "[kernel] buffer k of int64 is read as f32"},
      {"  value %2 = input 0 : f32\n  loop i < n\n    store y[i] = %2\n",
       "[kernel] f reads input 0, which nothing fills"},
      {"  value %2 = state 0 : f32\n  loop i < n\n    store y[i] = %2\n",
       "[kernel] f reads state 0 before it is computed"},
      {"  loop i < n, j < m\n    store y[i] = %0\n",
       "[kernel] f stores into y along kept axis j, which does not move its index i"},
      {"  loop i < n, j < m\n    store y[i + j] = %0\n",
       "[kernel] f stores into y twice at one place: axes i and j meet in i + j"},
      {"  loop i < 5, j < 3\n    store y[2*i + 4*j] = %0\n",
       "[kernel] f stores into y twice at one place: axes i and j meet in 2*i + 4*j"},
      {"  buffer z float32[12]\n  loop i < 4, j < 4\n    store z[4*i + j] = %0\n",
       "[kernel] f stores into z at 4*i + j, which reaches 15 of 12 elements"},
      {"  value %2 = load k[i] : i64\n  index t = %2 < n\n  loop i < n parallel\n    add y[t] = "
       "%0\n",
       "[kernel] f adds to y through a read index along axis i, whose iterations run at once; make "
       "the sum atomic"},
      {"  loop i < n\n    store y[i] = %0 if %1\n", "[kernel] a store into y is masked by f32"},
      {"  value %2 = load flags[i] : mask\n  loop i < n\n    add flags[i] = %2\n",
       "[kernel] masks of flags cannot be accumulated"},
      {"  value %2 = load y[i + 1] : f32\n  loop i < n\n    store y[i] = %0\n  loop i < n\n"
       "    store x[i] = %2\n",
       "[kernel] f reads y[i + 1] and writes y[i] in one stage; put a barrier between them"},
      {"  loop i < n\n    store y[i] = %0\n  loop i < n\n    store y[2*i] = %0\n",
       "[kernel] f writes y at 2*i and y at i in one stage"},
      {"  loop i < n\n    loop j < m parallel\n      store row[j] = %0\n",
       "[kernel] axis j is parallel inside of another axis"},
      {"  loop i < n, j < m parallel\n    store row[j] = %0\n",
       "[kernel] axis j is parallel inside of another axis"},
      {"  loop i < n parallel, j < i parallel\n    store row[j] = %0\n",
       "[kernel] axis j is parallel, and its extent moves with i"},
      {"  loop i < n vector, j < m\n    store row[j] = %0\n",
       "[kernel] axis i is a vector, but not the innermost one"},
      {"  loop i < n vector\n    loop j < m vector\n      store row[j] = %0\n",
       "[kernel] axis i is a vector, but not the innermost one"},
      {"  loop i < n vector\n    loop j < m\n      store row[j] = %0\n",
       "[kernel] f stores into row along kept axis i, which does not move its index j"},
      {"  loop i < n unroll\n    store y[i] = %0\n",
       "[kernel] axis i is unrolled, but has no constant extent"},
      {"  loop i < n reduced\n    store y[i] = %0\n",
       "[kernel] axis i is reduced, but nothing in its loop combines along it"},
      {"  loop i < n scanned\n    store y[i] = %0\n",
       "[kernel] axis i is scanned, but nothing in its loop combines along it"},
      {"  loop i < n reduced parallel\n    reduce sum(%0) over i -> 0\n",
       "[kernel] axis i is reduced and parallel; split it into partial results"},
      {"  loop i < n\n    reduce sum(%0) over i -> 0\n",
       "[kernel] sum of f runs over i, which is no reduced axis around it"},
      {"  loop j < m reduced, i < n reduced\n    reduce sum(%0) over i -> 0\n"
       "    reduce sum(%0) over j -> 1\n",
       "[kernel] sum of f does not run over the axes of its loop"},
      {"  loop i < n reduced\n    reduce sum(%0) over i -> 0\n    reduce max(%0) over i -> 0\n",
       "[kernel] state 0 of f has two sources"},
      {"  loop i < n reduced\n    reduce sum(%0, %0) over i -> 0\n",
       "[kernel] sum of f takes 1 values: got 2"},
      {"  loop i < n reduced\n    reduce argmax(%0, %0) over i -> 0\n",
       "[kernel] argmax of f takes i64: got f32"},
      {"  loop i < n reduced\n    reduce average(%0) over i -> 0\n",
       "[kernel] no reduction is called average: there are sum, prod, max, min, argmax, argmin, "
       "any, all, moments, logsumexp, running_max, running_min, logaddexp"},
      {"  value %2 = load flags[i] : mask\n  loop i < n reduced\n"
       "    reduce sum(%2) over i -> 0\n",
       "[kernel] sum does not reduce mask"},
      {"  value %2 = state 0 : f64\n  loop j < m\n    loop i < n reduced\n"
       "      reduce sum(%0) over i -> 0\n    store row[j] = %1\n  loop i < n\n"
       "    store y[i] = %2\n",
       "[kernel] state 0 is f32, read as f64"},
      {"  loop i < n scanned\n    scan sum(%0) along j -> 0\n",
       "[kernel] axis i is scanned, but nothing in its loop combines along it"},
      {"  value %2 = state 0 : f32\n  loop i < n scanned\n    scan sum(%0) along i -> 0\n"
       "  loop i < n\n    store y[i] = %2\n",
       "[kernel] f reads state 0 before it is computed"},
      {"  loop i < n scanned vector\n    scan sum(%0) along i -> 0\n",
       "[kernel] axis i is scanned and a vector"},
      {"  loop i < n\n    barrier\n", "[kernel] f has a barrier inside of a loop"},
      {"  loop i < n\n    check i\n",
       "[kernel] a check of f tests a symbol that stands for no value"},
      {"  value %2 = load k[i] : i64\n  index t = %2 < q\n  value %3 = load x[t] : f32\n"
       "  loop i < n\n    store y[i] = %3\n",
       "[kernel] the range of t uses q, which is not in scope"},
      {"  value %2 = load k[i] : i64\n  index t = %2 < n\n  loop t < n\n    store y[t] = %1\n",
       "[kernel] t stands for a value and is declared as axis"},
      {"  index t = %0 < n\n", "[kernel] an index is i64: got f32; cast it"},
      {"  buffer x int8[n]\n  loop i < n\n    store y[i] = %0\n",
       "[kernel] two buffers are called x"},
      {"  buffer z int8[i]\n  loop i < n\n    store y[i] = %0\n",
       "[kernel] the size of buffer z uses i, which is not in scope"},
      {"  buffer z int8[n] align 12\n  loop i < n\n    store y[i] = %0\n",
       "[kernel] the alignment of buffer z is no power of two: got 12"},
  };
  for (const Broken& one : cases)
    EXPECT_EQ(error_of(around(one.text), true), one.message) << one.text;
}

// Near what the rules of owners refuse, and right.
TEST(Verifier, AcceptsStoresThatNeverMeet) {
  for (const char* lines : {
           "  loop i < n, j < 4\n    store y[4*i + j] = %0\n",
           "  loop i < 2, j < 3\n    store y[2*j + i] = %0\n",
           "  loop i < n, j < m\n    store y[m*i + j] = %0\n",
           "  loop i < n, j < 1\n    store y[i + j] = %0\n",
           // A length that may be 1 is the launch's business.
           "  loop i < n, j < ((m + 1)//2)\n    store y[i + j] = %0\n",
           "  buffer z float32[16]\n  loop i < 4, j < 4\n    store z[4*i + j] = %0\n",
           "  value %2 = load k[i] : i64\n  index t = %2 < n\n  loop i < n\n    add y[t] = %0\n",
       })
    EXPECT_EQ(error_of(around(lines), true), "") << lines;
}

TEST(Verifier, AliasesCountAsOneBuffer) {
  const std::string text = R"(kernel f(n)
  buffer y float32[n] alias 1
  buffer x float32[n] alias 1
  value %0 = load x[i] : f32
  loop i < n
    store y[i] = %0
  loop i < n
    store y[i] = %0
)";
  EXPECT_EQ(error_of(text, true),
            "[kernel] f reads x[i] and writes y[i] in one stage; put a barrier between them");
}

TEST(ReduceBodies, EveryNameCanBeReadForItsTypes) {
  for (const std::string& name : reduce_body_names()) {
    int count = 0;
    for (int t = 0; t < kNumTypes; ++t) {
      try {
        const ReduceBody* body = find_reduce_body(name, static_cast<Type>(t));
        EXPECT_EQ(body, find_reduce_body(name, static_cast<Type>(t)));
        EXPECT_EQ(body->combine.size(), body->state_types.size()) << name;
        ++count;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::Type) << error.what();
      }
    }
    EXPECT_GT(count, 0) << name;
  }
}

}  // namespace
}  // namespace taeda::kernel::test
