// .gd files, of version 1 and of GraphZero 0.2: opened, verified, gathered in every way.
#include <vector>

#include "gather/column.h"
#include "gather/row_cache.h"
#include "harness.h"
#include "store/matrix/matrix_reader.h"
#include "store/verify/verify.h"

namespace graphzero::fuzz {
namespace {

using gather::ColumnPath;
using store::MatrixReader;

// A wider row than any of these files can have would be a lie of its header.
constexpr uint64_t kWidestRow = uint64_t{1} << 22;

// Every way to read gives the bytes that the mapping has.
void Gather(const MatrixReader& matrix) {
  if (matrix.rows() == 0) return;
  Require(matrix.row_bytes() < kWidestRow, "a row lies in the file");
  const auto last = static_cast<int64_t>(matrix.rows() - 1);
  const std::vector<int64_t> ids{last, 0, last, last / 2};
  std::vector<std::byte> expected(ids.size() * matrix.row_bytes());
  gather::GatherRows(matrix, ids, expected.data(), 1);
  for (const ColumnPath path :
       {ColumnPath::kMapped, ColumnPath::kCached, ColumnPath::kDirect, ColumnPath::kAdaptive}) {
    Tolerate([&] {
      std::vector<std::byte> found(expected.size());
      gather::Column::Open(matrix, path, nullptr, "")->Gather(ids, found.data(), 1);
      Require(found == expected, "every way to read gives the same bytes");
    });
  }
  std::vector<std::byte> row(matrix.row_bytes());
  matrix.ReadRows(0, row);
  const std::vector<int64_t> outside{static_cast<int64_t>(matrix.rows())};
  bool refused = false;
  try {
    gather::CheckIds(matrix, outside);
  } catch (const std::out_of_range&) {
    refused = true;
  }
  Require(refused, "a row that does not exist is refused");
}

void Exercise(const std::string& path) {
  const auto matrix = MatrixReader::Open(path);
  Tolerate([&] { Gather(matrix); });
  Tolerate([&] { (void)matrix.description(); });
  Tolerate([&] { store::Verify(matrix, {.threads = 1, .advance = [](uint64_t) {}}); });
}

}  // namespace
}  // namespace graphzero::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static graphzero::fuzz::MemoryFile file;
  file.Fill({data, size});
  graphzero::fuzz::Tolerate([] { graphzero::fuzz::Exercise(file.path()); });
  return 0;
}
