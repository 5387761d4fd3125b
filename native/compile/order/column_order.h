// The columns of a dataset whose nodes got new numbers, in bounded memory.
//
// Files are rewritten section by section: everything but the rows is copied unchanged, including
// sections that this release does not know, and rows move as their stored bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "compile/job.h"
#include "store/matrix/matrix_reader.h"

namespace graphzero::compile {

// `numbers` are the new numbers of the nodes, indexed by the old numbers. Each function creates
// `path`, which must not exist, and throws IoError, and InputError for a column that does not have
// one row per node or for an id that is not a node.

// A column with a row for each node: its rows in the new order.
void ReorderRows(const store::MatrixReader& column, std::span<const uint32_t> numbers,
                 const std::string& path, const Resources& resources, Progress* progress);

// A list of nodes: the same nodes in the same places, by their new numbers.
void RenumberIds(const store::MatrixReader& column, std::span<const uint32_t> numbers,
                 const std::string& path, Progress* progress);

// Original ids in the new order, with an index of their rows by ascending id. Without `ids` the old
// numbers are the original ids. `description` replaces that of the file.
void ReorderOriginalIds(const std::optional<store::MatrixReader>& ids,
                        std::span<const uint32_t> numbers, const std::string& description,
                        const std::string& path, const Resources& resources, Progress* progress);

// Original ids in any order: `path` gets the same rows, with an index of them by ascending id.
// Throws InputError if two ids are equal, or if memory is too small to sort them.
void IndexOriginalIds(const store::MatrixReader& ids, const std::string& path,
                      const Resources& resources, Progress* progress);

}  // namespace graphzero::compile
