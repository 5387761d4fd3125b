// Finds original ids in the matrix of original ids that a renumbered graph comes with: the row of
// an id is its new id. The ids ascend (compile/ids/ writes them), or the file has the order in
// which they do (compile/order/). Conversions look ids up, and so does a daemon whose clients ask
// by original id.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "store/matrix/matrix_reader.h"

namespace graphzero::store {

// What Find() writes for an id that the matrix does not have.
inline constexpr int64_t kNoRow = -1;

// Thread-safe: nothing changes after construction.
class IdIndex {
 public:
  // Builds a hash table if it fits into `memory` bytes. Else Find() bisects the mapped file, which
  // costs nothing before the first call. Throws InputError if the matrix holds no ids.
  IdIndex(MatrixReader ids, uint64_t memory, int threads);

  bool holds_texts() const { return texts_; }

  // Writes the row of each id, or kNoRow. Throws InputError if the matrix holds ids of the other
  // kind, FormatError if the file is damaged.
  void Find(std::span<const int64_t> ids, int64_t* rows) const;
  void Find(const base::TextView& ids, int64_t* rows) const;

 private:
  void BuildTable();
  int64_t IntegerAt(uint64_t row) const;
  std::string_view TextAt(uint64_t row) const;
  uint64_t RowInOrder(uint64_t place) const;
  template <class Key>
  int64_t FindOne(Key key) const;
  template <class Key>
  int64_t Bisect(Key key) const;
  template <class Keys>
  void FindAll(const Keys& keys, int64_t* rows) const;

  const MatrixReader ids_;
  const int threads_;
  const bool texts_;
  std::vector<uint32_t> table_;  // open addressing: row + 1 of an id; 0: free
};

}  // namespace graphzero::store
