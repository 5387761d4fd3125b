#include "compile/order/column_order.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "base/errors.h"
#include "base/text.h"
#include "compile/matrices/matrix_sorter.h"
#include "store/container/container_writer.h"
#include "store/files/mapped_file.h"
#include "store/matrix/id_index.h"

namespace graphzero::compile {
namespace {

using base::Number;
using store::MatrixReader;
using store::SectionEntry;
using store::SectionKind;
using store::SectionSpec;

constexpr uint64_t kBytesAtOnce = uint64_t{1} << 20;

using Fill = std::function<void(store::SectionStream* stream)>;

struct Section {
  SectionSpec spec;
  Fill fill;
};

// What a new file is made of, and where its rows come from.
struct NewFile {
  store::MatrixProperties properties{};
  uint32_t optional_flags = 0;
  std::vector<Section> sections;

  // The rows that a reader sees. Others, of another relation or encoding, are only carried over.
  Section& rows() {
    return *std::find_if(sections.begin(), sections.end(), [](const Section& s) {
      return s.spec.kind == SectionKind::kRows && s.spec.relation == 0 &&
             s.spec.encoding == store::Encoding::kRaw;
    });
  }
  void Remove(SectionKind kind) {
    std::erase_if(sections, [&](const Section& s) { return s.spec.kind == kind; });
  }
};

// Reads bytes of a file front to back, and passes them to `take` in pieces of whole items.
void ReadInPieces(const MatrixReader& column, uint64_t offset, uint64_t bytes, uint64_t item,
                  const std::function<void(std::span<std::byte>)>& take) {
  std::vector<std::byte> piece(std::max<uint64_t>(kBytesAtOnce / item, 1) * item);
  for (uint64_t at = 0; at < bytes;) {
    const auto now = std::span(piece).first(std::min<uint64_t>(piece.size(), bytes - at));
    column.file()->Read(offset + at, now);
    take(now);
    at += now.size();
  }
}

Fill CopyOf(const MatrixReader& column, const SectionEntry& entry) {
  return [&column, entry](store::SectionStream* stream) {
    ReadInPieces(column, entry.offset, entry.stored_bytes, 1,
                 [&](std::span<std::byte> piece) { stream->Append(piece); });
  };
}

Section TextSection(SectionKind kind, const std::string& text) {
  return {{kind, store::DType::kUInt8, text.size(), text.size(), /*optional=*/true},
          [text](store::SectionStream* s) { s->Append(std::as_bytes(std::span(text))); }};
}

// Copies everything unchanged. Of a file of GraphZero 0.2, makes one of this version; the caller
// fills its rows.
NewFile CopyOf(const MatrixReader& column) {
  NewFile file;
  if (const store::Container* container = column.container()) {
    file.properties = std::bit_cast<store::MatrixProperties>(container->header().properties);
    file.optional_flags = container->header().optional_flags;
    if (const uint32_t required = container->header().required_flags) {
      throw InputError(column.file()->path() + ": found required flags " + Number(required) +
                       ", expected a whole column; order a dataset before it is divided");
    }
    for (const SectionEntry& entry : container->sections()) {
      if (entry.kind == SectionKind::kChecksums) continue;
      const bool optional = (entry.flags & store::kMustUnderstand) == 0;
      file.sections.push_back({{entry.kind, entry.dtype, entry.count, entry.stored_bytes, optional,
                                entry.relation, entry.encoding},
                               CopyOf(column, entry)});
    }
    return file;
  }
  file.properties.rows = column.rows();
  file.properties.cols = column.cols();
  file.properties.row_stride = column.row_stride();
  file.properties.ndim = column.ndim();
  file.properties.role = column.role();
  const uint64_t bytes = column.rows() * column.row_stride();
  file.sections.push_back({{SectionKind::kRows, column.dtype(), column.rows(), bytes}, {}});
  return file;
}

void Write(const NewFile& file, const std::string& path, Progress* progress) {
  std::vector<SectionSpec> specs;
  for (const Section& section : file.sections) specs.push_back(section.spec);
  store::ContainerWriter writer(path, store::kMatrixMagic, specs);
  for (size_t i = 0; i < file.sections.size(); ++i) file.sections[i].fill(&writer.stream(i));
  progress->Start("making durable", 0);
  writer.Finish(std::bit_cast<store::Properties>(file.properties), file.optional_flags);
}

void CheckRows(const MatrixReader& column, std::span<const uint32_t> numbers) {
  if (column.rows() == numbers.size()) return;
  throw InputError(column.file()->path() + ": found " + Number(column.rows()) + " rows, expected " +
                   Number(numbers.size()) + ", one for each node");
}

// The rows of a column, moved to their new places.
Fill MovedRows(const MatrixReader& column, std::span<const uint32_t> numbers,
               const Resources& resources, Progress* progress) {
  return [&column, numbers, &resources, progress](store::SectionStream* stream) {
    if (numbers.empty()) return;
    const uint64_t stride = column.row_stride();
    Resources own = resources;
    own.threads = 1;
    MatrixSorter sorter(SorterLimits::Share(own), stride, 0, numbers.size());
    progress->Start("reading rows", numbers.size());
    uint64_t row = 0;
    ReadInPieces(column, column.data_offset(), numbers.size() * stride, stride,
                 [&](std::span<std::byte> piece) {
                   progress->ThrowIfCancelled();
                   const uint64_t count = piece.size() / stride;
                   for (uint64_t i = 0; i < count; ++i, ++row) {
                     sorter.Add(0, numbers[row], row, piece.subspan(i * stride, stride));
                   }
                   progress->Add(count);
                 });
    sorter.Close();
    progress->Start("moving rows", numbers.size());
    const std::vector<std::byte> nothing(stride);
    sorter.Drain(
        numbers.size(), nothing,
        [&](std::span<const std::byte> rows, uint64_t copies) {
          while (copies-- > 0) stream->Append(rows);
        },
        progress);
  };
}

template <class Id>
void RenumberPiece(const MatrixReader& column, std::span<const uint32_t> numbers, uint64_t first,
                   std::span<std::byte> piece) {
  const uint64_t stride = column.row_stride();
  for (uint64_t i = 0; i < piece.size() / stride; ++i) {
    Id id;
    std::memcpy(&id, piece.data() + i * stride, sizeof id);
    if (id < 0 || static_cast<uint64_t>(id) >= numbers.size()) {
      throw InputError(column.file()->path() + " row " + Number(first + i) + ": found node " +
                       std::to_string(id) + ", expected an id below " + Number(numbers.size()));
    }
    id = static_cast<Id>(numbers[static_cast<size_t>(id)]);
    std::memcpy(piece.data() + i * stride, &id, sizeof id);
  }
}

// Rows in the order of their ids: `row(i)` is the i-th of them.
Section RowsById(uint64_t rows, const std::function<uint64_t(uint64_t)>& row) {
  return {{SectionKind::kRowsById, store::DType::kUInt32, rows, rows * sizeof(uint32_t)},
          [rows, row](store::SectionStream* stream) {
            std::vector<uint32_t> piece;
            for (uint64_t i = 0; i < rows; ++i) {
              piece.push_back(static_cast<uint32_t>(row(i)));
              if (piece.size() * sizeof(uint32_t) < kBytesAtOnce && i + 1 < rows) continue;
              stream->Append(std::as_bytes(std::span(piece)));
              piece.clear();
            }
          }};
}

// The old numbers as original ids: int64, in the order of the new numbers.
NewFile OldNumbers(std::span<const uint32_t> numbers) {
  NewFile file;
  file.properties.rows = numbers.size();
  file.properties.cols = 1;
  file.properties.row_stride = sizeof(int64_t);
  file.properties.ndim = 1;
  file.properties.role = store::Role::kNode;
  const uint64_t bytes = numbers.size() * sizeof(int64_t);
  file.sections.push_back({{SectionKind::kRows, store::DType::kInt64, numbers.size(), bytes},
                           [numbers](store::SectionStream* stream) {
                             std::vector<int64_t> old(numbers.size());
                             for (size_t i = 0; i < numbers.size(); ++i) {
                               old[numbers[i]] = static_cast<int64_t>(i);
                             }
                             stream->Append(std::as_bytes(std::span(old)));
                           }});
  return file;
}

}  // namespace

void ReorderRows(const MatrixReader& column, std::span<const uint32_t> numbers,
                 const std::string& path, const Resources& resources, Progress* progress) {
  CheckRows(column, numbers);
  NewFile file = CopyOf(column);
  file.rows().fill = MovedRows(column, numbers, resources, progress);
  Write(file, path, progress);
}

void RenumberIds(const MatrixReader& column, std::span<const uint32_t> numbers,
                 const std::string& path, Progress* progress) {
  NewFile file = CopyOf(column);
  file.rows().fill = [&](store::SectionStream* stream) {
    uint64_t row = 0;
    const uint64_t stride = column.row_stride();
    progress->Start("renumbering", column.rows());
    ReadInPieces(column, column.data_offset(), column.rows() * stride, stride,
                 [&](std::span<std::byte> piece) {
                   progress->ThrowIfCancelled();
                   if (column.dtype() == store::DType::kInt32) {
                     RenumberPiece<int32_t>(column, numbers, row, piece);
                   } else {
                     RenumberPiece<int64_t>(column, numbers, row, piece);
                   }
                   row += piece.size() / stride;
                   progress->Add(piece.size() / stride);
                   stream->Append(piece);
                 });
  };
  Write(file, path, progress);
}

void ReorderOriginalIds(const std::optional<MatrixReader>& ids, std::span<const uint32_t> numbers,
                        const std::string& description, const std::string& path,
                        const Resources& resources, Progress* progress) {
  if (ids) CheckRows(*ids, numbers);
  NewFile file = ids ? CopyOf(*ids) : OldNumbers(numbers);
  if (ids) file.rows().fill = MovedRows(*ids, numbers, resources, progress);
  file.Remove(SectionKind::kRowsById);
  file.Remove(SectionKind::kDescription);
  // Where the ids ascended with the rows, the order of the ids is that of the old numbers.
  const store::IntegerArray before = ids ? ids->rows_by_id() : store::IntegerArray{};
  const auto row = [&](uint64_t place) -> uint64_t {
    const uint64_t old = before.present() ? before[place] : place;
    if (old < numbers.size()) return numbers[old];
    throw FormatError(ids->file()->path(), "rows_by_id item " + Number(place), "row " + Number(old),
                      "a row below " + Number(numbers.size()));
  };
  file.sections.insert(file.sections.begin(), RowsById(numbers.size(), row));
  if (!description.empty()) {
    file.sections.insert(file.sections.begin(),
                         TextSection(SectionKind::kDescription, description));
  }
  const auto write = [&] { Write(file, path, progress); };
  if (!ids) return write();
  store::ReadGuarded(*ids->file(), write);
}

void IndexOriginalIds(const MatrixReader& ids, const std::string& path, const Resources& resources,
                      Progress* progress) {
  store::IdIndex(ids, /*memory=*/0, /*threads=*/1);  // throws InputError if these are no ids
  const uint64_t needed = ids.rows() * sizeof(uint32_t);
  if (ids.rows() > UINT32_MAX || needed > resources.memory) {
    throw InputError(ids.file()->path() + ": found " + Number(ids.rows()) +
                     " original ids that do not ascend, expected as many as can be sorted in " +
                     Number(resources.memory >> 20) + " MiB of working memory (--memory)");
  }
  const auto compare = [&](uint32_t a, uint32_t b) {
    const std::byte* left = ids.data() + a * ids.row_stride();
    const std::byte* right = ids.data() + b * ids.row_stride();
    // Texts compare by their bytes; the zeros that pad a text compare as smaller than any byte of a
    // text.
    if (ids.dtype() != store::DType::kInt64) return std::memcmp(left, right, ids.cols());
    int64_t values[2];
    std::memcpy(&values[0], left, sizeof values[0]);
    std::memcpy(&values[1], right, sizeof values[1]);
    return static_cast<int>(values[0] > values[1]) - static_cast<int>(values[0] < values[1]);
  };
  progress->Start("sorting ids", 0);
  std::vector<uint32_t> order(ids.rows());
  std::iota(order.begin(), order.end(), 0u);
  store::ReadGuarded(*ids.file(), [&] {
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      const int way = compare(a, b);
      return way < 0 || (way == 0 && a < b);
    });
    for (size_t i = 1; i < order.size(); ++i) {
      if (compare(order[i - 1], order[i]) != 0) continue;
      throw InputError(ids.file()->path() + ": found the same original id in rows " +
                       Number(order[i - 1]) + " and " + Number(order[i]) +
                       ", expected different ones");
    }
  });
  NewFile file = CopyOf(ids);
  file.sections.insert(file.sections.begin(),
                       RowsById(ids.rows(), [&](uint64_t i) { return order[i]; }));
  Write(file, path, progress);
}

}  // namespace graphzero::compile
