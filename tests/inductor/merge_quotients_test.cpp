// Quotients and remainders that are one step of memory.
#include "taeda/inductor/merge_quotients.h"

#include <gtest/gtest.h>

namespace taeda::inductor {
namespace {

using symbolic::Expr;

class MergedQuotients : public testing::Test {
 protected:
  const Expr* size(const char* name) {
    return pool_.symbol(name, SymKind::Int, {1, symbolic::IntRange::kMax}, {});
  }
  const Expr* index(const char* name) {
    return pool_.symbol(name, SymKind::Int, {0, symbolic::IntRange::kMax}, {});
  }
  // The place of position p in sizes (any, h, w), as an index of contiguous memory.
  const Expr* through_views(const Expr* p, const Expr* h, const Expr* w) {
    const Expr* row = pool_.floor_div(p, w);
    const Expr* outer = pool_.mul(pool_.mul(pool_.floor_div(row, h), h), w);
    return pool_.add(outer, pool_.add(pool_.mul(pool_.modulo(row, h), w), pool_.modulo(p, w)));
  }

  symbolic::ExprPool pool_;
};

TEST_F(MergedQuotients, OfNumbersAndOfSymbols) {
  const Expr* p = pool_.add(pool_.mul(pool_.integer(4096), index("c")), index("j"));
  EXPECT_EQ(merged_quotients(pool_, through_views(p, pool_.integer(5), pool_.integer(7))), p);
  EXPECT_EQ(merged_quotients(pool_, through_views(p, size("h"), size("w"))), p);
  // Multiples, beside other terms.
  const Expr* w = size("w");
  const Expr* pair = pool_.add(pool_.mul(w, pool_.floor_div(p, w)), pool_.modulo(p, w));
  const Expr* at = pool_.add(index("k"), pool_.mul(pool_.integer(3), pair));
  EXPECT_EQ(merged_quotients(pool_, at), pool_.add(index("k"), pool_.mul(pool_.integer(3), p)));
}

TEST_F(MergedQuotients, OtherTermsStay) {
  const Expr *p = index("p"), *w = size("w"), *h = size("h");
  for (const Expr* at : {pool_.modulo(p, w), pool_.add(pool_.floor_div(p, w), pool_.modulo(p, w)),
                         pool_.add(pool_.mul(h, pool_.floor_div(p, w)), pool_.modulo(p, w))})
    EXPECT_EQ(merged_quotients(pool_, at), at);
}

}  // namespace
}  // namespace taeda::inductor
