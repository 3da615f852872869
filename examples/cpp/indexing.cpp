// Reads and writes parts of a tensor and prints what it does: indexing
#include <taeda/taeda.h>

#include <iostream>

using namespace taeda::indexing;
using taeda::Tensor;

int main() {
  Tensor board = taeda::zeros({4, 4}, taeda::kInt);
  board[0] = 1;                                     // a row
  board.index_put_({Slice(1, None), 0}, 2);         // a part of a column
  board.index_put_({Slice(2, 4), Slice(2, 4)}, 3);  // a block
  std::cout << board << "\n\n";

  const Tensor corners = board.index({Slice(None, None, 3), Slice(None, None, 3)});
  std::cout << "corners\n" << corners << "\n\n";

  const Tensor mask = (board > 0) & (board != 3);
  std::cout << mask.sum().item<int64_t>() << " elements are 1 or 2\n";
  board.index_put_({mask}, 0);
  std::cout << "what is left, by column: " << board.sum(0) << "\n\n";

  try {
    board.index({7});
  } catch (const taeda::Error& error) {
    std::cout << "refused: " << error.what() << std::endl;
  }
  return 0;
}
