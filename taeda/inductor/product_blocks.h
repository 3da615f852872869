// Pointwise groups that run inside of a product, block by block.
//
//   kernel: v = w * scale              call mm(x, v) -> p
//   call mm(x, v) -> p           to      where v is packed: v = w * scale
//   kernel: y = gelu(p)                  after each block of p: y = gelu(p)
//
// Note [Finished blocks]: a product computes its result block by block, rows by columns. A group of
// pointwise units over the elements of the result, the first one that reads it, runs on each block
// as soon as its elements are final, while they lie in the cache. Its kernel goes through the rows
// and columns of one block, four numbers that each block gives; sizes may change. The product's
// elements are those of the product alone, so are all results, bit for bit. Where nothing else
// reads the product and the group writes values of its dtype in its place, both share one memory:
// the product is never written anywhere else. Blocks of a convolution are channels of all images by
// the places of one, or places of all images by channels, as its result lies in memory.
//
// Note [Filled blocks]: a product brings its operands into panels, block by block. An operand that
// a cheap pointwise unit computes (a cast, a number times a scale) and nothing else reads is
// computed in these blocks, as a group of the same kind whose kernel writes a block of its own.
// Products that read their operands as they lie (few rows, small ones, a library's) find them in
// memory: then the kernel goes through the whole operand before. Rows of a batch's operands are
// counted through its matrices.
#pragma once

#include "taeda/backends/cpu/gemm/products.h"
#include "taeda/inductor/fuse.h"
#include "taeda/inductor/write_kernel.h"

namespace taeda::inductor {

// The product that a plan runs in place of the operator's own call; null for other calls.
const cpu::ProductOperator* product_of(const Program& program, const Call& call);

// Takes groups of products out of the list and names them in the groups that finish their blocks;
// takes groups of operands out and puts them into those of their products.
void attach_to_products(const Program& program, std::vector<Group>& groups);

// Gives the product the memory of a value that its group writes in its place, where it may. Memory
// is assigned by now.
void share_result_memory(Program& program, std::vector<Group>& groups);

// The symbols of a block: first row, rows, first column, columns. Rows and columns are counted
// through all dimensions that belong to them.
std::vector<const Expr*> block_symbols(symbolic::ExprPool& pool);

// The kernel of such a group, which goes through one block. `whole`: its kernel over all axes.
GroupKernel write_block_kernel(const Group& group, GroupKernel whole);

}  // namespace taeda::inductor
