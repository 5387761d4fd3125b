// The columns of a dataset whose nodes got new numbers, in bounded memory.
//
// Files are rewritten section by section: everything but the rows is carried over as it is, also
// what this release does not know, and rows move as the bytes that they are stored as.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "compile/job.h"
#include "store/matrix_reader.h"

namespace graphzero::compile {

// `numbers` are the new numbers of nodes, by the old ones. All of these create `path`, which must
// not exist, and throw InputError for a column that has no row, or an id that is no node, IoError.

// A column with a row for each node: its rows in the new order.
void ReorderRows(const store::MatrixReader& column, std::span<const uint32_t> numbers,
                 const std::string& path, const Resources& resources, Progress* progress);

// A list of nodes: the same nodes in the same places, by their new numbers.
void RenumberIds(const store::MatrixReader& column, std::span<const uint32_t> numbers,
                 const std::string& path, Progress* progress);

// Original ids in the new order, with the order in which they ascend. Without `ids` the old numbers
// are the original ids. `description` takes the place of what the file said before.
void ReorderOriginalIds(const std::optional<store::MatrixReader>& ids,
                        std::span<const uint32_t> numbers, const std::string& description,
                        const std::string& path, const Resources& resources, Progress* progress);

// Original ids in any order, with the order in which they ascend; throws InputError if two are
// equal. `path` gets a file with the same rows.
void IndexOriginalIds(const store::MatrixReader& ids, const std::string& path,
                      const Resources& resources, Progress* progress);

}  // namespace graphzero::compile
