#include "store/matrix/matrix_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/errors.h"
#include "base/text.h"
#include "store/container/legacy_format.h"

namespace graphzero::store {
namespace {

using base::Number;

}  // namespace

bool IsRowShape(std::span<const uint64_t> row_shape, uint64_t cols) {
  if (row_shape.size() < 2 || row_shape.size() > kMaxRowDimensions) return false;
  // By division: a product could wrap around.
  for (const uint64_t size : row_shape) {
    if (size == 0 || cols % size != 0) return false;
    cols /= size;
  }
  return cols == 1;
}

MatrixReader MatrixReader::Open(const std::string& path) {
  return OpenMapped(MappedFile::Open(path));
}

MatrixReader MatrixReader::OpenMapped(std::shared_ptr<const MappedFile> file) {
  MatrixReader reader;
  reader.file_ = std::move(file);
  if (ReadMagic(*reader.file_) == kLegacyMatrixMagic) {
    reader.OpenLegacy();
  } else {
    reader.OpenVersion1();
  }
  return reader;
}

void MatrixReader::OpenVersion1() {
  container_ = std::make_shared<const Container>(Container::Open(file_, kMatrixMagic));
  const auto p = std::bit_cast<MatrixProperties>(container_->header().properties);
  const std::string& path = file_->path();
  for (uint8_t byte : p.reserved) {
    if (byte != 0) throw FormatError(path, "matrix properties", "a reserved value", "zero");
  }
  const SectionEntry* data = container_->Find(SectionKind::kRows);
  if (data == nullptr) throw FormatError(path, "section table", "no rows section", "one");
  if (!IsMatrixType(data->dtype)) {
    throw FormatError(path, "rows dtype", std::string(Name(data->dtype)), "a matrix type");
  }
  if (p.ndim < 1 || p.ndim > 2 || p.cols == 0 || (p.ndim == 1 && p.cols != 1)) {
    throw FormatError(path, "matrix properties",
                      Number(p.ndim) + " dimensions with " + Number(p.cols) + " columns",
                      "1 with 1 column, or 2 with at least 1");
  }
  if (p.role > Role::kCategories) {
    throw FormatError(path, "matrix role", Number(static_cast<uint32_t>(p.role)),
                      "0 (node), 1 (edge), 2 (ids) or 3 (categories)");
  }
  const bool integer = data->dtype == DType::kInt32 || data->dtype == DType::kInt64;
  if (p.role == Role::kIds && (p.ndim != 1 || !integer)) {
    throw FormatError(path, "matrix role",
                      "a list of ids as " + std::string(Name(data->dtype)) + " of " +
                          Number(p.ndim) + " dimensions",
                      "int32 or int64 of 1 dimension");
  }
  const uint64_t item = ItemSize(data->dtype);
  // Array libraries store strides as signed numbers.
  constexpr uint64_t kLargestStride = INT64_MAX;
  if (p.cols > p.row_stride / item || p.row_stride % item != 0 || p.row_stride > kLargestStride) {
    throw FormatError(
        path, "row stride", Number(p.row_stride) + " bytes",
        "a multiple of " + Number(item) + " that holds " + Number(p.cols) + " values");
  }
  const uint64_t stored = data->stored_bytes;
  const bool exact = p.row_stride == 0 || p.rows == 0
                         ? stored == 0
                         : stored % p.row_stride == 0 && stored / p.row_stride == p.rows;
  if (data->count != p.rows || !exact) {
    throw FormatError(path, "rows section",
                      Number(stored) + " bytes for " + Number(data->count) + " rows",
                      Number(p.rows) + " rows of " + Number(p.row_stride) + " bytes");
  }
  rows_ = p.rows;
  cols_ = p.cols;
  row_stride_ = p.row_stride;
  ndim_ = p.ndim;
  dtype_ = stored_dtype_ = data->dtype;
  role_ = p.role;
  data_ = container_->Bytes(*data).data();
  if (ndim_ == 2) row_shape_.push_back(cols_);
  if (const SectionEntry* shape = container_->Find(SectionKind::kRowShape)) ReadRowShape(*shape);
  if (const SectionEntry* order = container_->Find(SectionKind::kRowsById)) OpenRowsById(*order);
  ReadShard();
  if (const SectionEntry* codes = container_->Find(SectionKind::kQuantisation)) {
    ReadQuantisation(*codes);
  }
}

void MatrixReader::ReadQuantisation(const SectionEntry& entry) {
  const std::string& path = file_->path();
  const bool role = role_ == Role::kNode || role_ == Role::kEdge;
  if (stored_dtype_ != DType::kUInt8 || !role || cols_ > kMostQuantisedCols) {
    throw FormatError(path, "quantisation",
                      "a matrix of " + std::string(Name(stored_dtype_)) + " with " + Number(cols_) +
                          " columns and role " + Number(static_cast<uint32_t>(role_)),
                      "uint8 with at most " + Number(kMostQuantisedCols) +
                          " columns and role 0 (node) or 1 (edge)");
  }
  if (entry.dtype != DType::kUInt8 || entry.count != QuantisationBytes(cols_)) {
    throw FormatError(
        path, "quantisation", Number(entry.count) + " " + std::string(Name(entry.dtype)),
        Number(QuantisationBytes(cols_)) + " uint8 for " + Number(cols_) + " columns");
  }
  std::vector<std::byte> section(entry.count);
  file_->Read(entry.offset, section);
  const auto found = std::make_shared<Quantisation>();
  if (!FromSection(section, cols_, found.get())) {
    throw FormatError(path, "quantisation", "a reserved value", "zero");
  }
  // Every part of a matrix has the quantisation of the whole matrix.
  const uint64_t rows = shard() == nullptr ? rows_ : shard()->total_rows;
  const QuantisationProblem problem = FindProblem(*found, rows, cols_);
  if (!problem.found.empty()) {
    throw FormatError(path, "quantisation", problem.found, problem.expected);
  }
  dtype_ = found->delivered;
  quantisation_ = found;
}

void MatrixReader::ReadShard() {
  const SectionEntry* entry = container_->Find(SectionKind::kShard);
  const bool flagged = (container_->header().required_flags & kShardedFlag) != 0;
  if (entry == nullptr && !flagged) return;
  if (entry == nullptr || !flagged || entry->dtype != DType::kUInt64 ||
      entry->stored_bytes != sizeof(Shard)) {
    throw FormatError(file_->path(), "shard", entry == nullptr ? "no section" : "a section",
                      "one of " + Number(sizeof(Shard)) + " bytes, and the required flag of parts");
  }
  Shard shard{};
  file_->Read(entry->offset, std::as_writable_bytes(std::span(&shard, 1)));
  if (!shard.Plausible(rows_) || (role_ != Role::kNode && role_ != Role::kEdge)) {
    throw FormatError(file_->path(), "shard",
                      Number(rows_) + " rows as part " + Number(shard.part) + " of " +
                          Number(shard.parts) + " in blocks of " + Number(shard.block_rows) +
                          " of " + Number(shard.total_rows) + " rows",
                      "numbers that fit together, of a matrix by node or by edge");
  }
  shard_ = shard;
}

void MatrixReader::ReadRowShape(const SectionEntry& entry) {
  const std::string expected = "2 to " + Number(kMaxRowDimensions) +
                               " uint64, whose product is the " + Number(cols_) +
                               " columns of a matrix of 2 dimensions";
  if (ndim_ != 2 || entry.dtype != DType::kUInt64 || entry.count > kMaxRowDimensions) {
    throw FormatError(file_->path(), "row_shape",
                      Number(entry.count) + " " + std::string(Name(entry.dtype)) +
                          " for a matrix of " + Number(ndim_) + " dimensions",
                      expected);
  }
  std::vector<uint64_t> shape(entry.count);
  file_->Read(entry.offset, std::as_writable_bytes(std::span(shape)));
  if (!IsRowShape(shape, cols_)) {
    std::string found;
    for (const uint64_t size : shape) found += (found.empty() ? "" : " x ") + Number(size);
    throw FormatError(file_->path(), "row_shape", found.empty() ? "nothing" : found, expected);
  }
  row_shape_ = std::move(shape);
}

void MatrixReader::OpenLegacy() {
  const LegacyMatrix legacy = ReadLegacyMatrix(*file_);
  rows_ = legacy.rows;
  cols_ = legacy.cols;
  dtype_ = stored_dtype_ = legacy.dtype;
  row_stride_ = row_bytes();
  row_shape_.push_back(cols_);
  data_ = file_->bytes().data() + legacy.data_offset;
}

void MatrixReader::ReadRows(uint64_t first, std::span<std::byte> out) const {
  const uint64_t bytes = row_bytes();
  const uint64_t stored = stored_row_bytes();
  const uint64_t count = bytes == 0 ? 0 : out.size() / bytes;
  if (first > rows_ || count > rows_ - first) {
    throw std::out_of_range("rows " + Number(first) + " to " + Number(first + count) +
                            " are outside " + file_->path() + ", which has " + Number(rows_));
  }
  if (bytes == row_stride_ && !quantisation_) {
    return file_->Read(data_offset() + first * bytes, out);
  }
  std::optional<RowDecoder> decoder;
  if (quantisation_) decoder.emplace(*quantisation_, RowDecoder::Best());
  constexpr uint64_t kAtOnce = uint64_t{1} << 20;
  const uint64_t step = std::max<uint64_t>(1, kAtOnce / row_stride_);
  std::vector<std::byte> padded(std::min(step, count) * row_stride_);
  for (uint64_t row = 0; row < count; row += step) {
    const uint64_t now = std::min(step, count - row);
    file_->Read(data_offset() + (first + row) * row_stride_,
                std::span(padded).first(now * row_stride_));
    for (uint64_t i = 0; i < now; ++i) {
      const std::byte* from = padded.data() + i * row_stride_;
      std::byte* to = out.data() + (row + i) * bytes;
      if (decoder) {
        decoder->Decode(from, to);
      } else {
        std::memcpy(to, from, stored);
      }
    }
  }
}

void MatrixReader::OpenRowsById(const SectionEntry& entry) {
  const bool integers = entry.dtype == DType::kUInt32 || entry.dtype == DType::kUInt64;
  if (!integers || entry.count != rows_) {
    throw FormatError(file_->path(), "rows_by_id",
                      Number(entry.count) + " " + std::string(Name(entry.dtype)),
                      Number(rows_) + " uint32 or uint64, one for each row");
  }
  rows_by_id_ = {container_->Bytes(entry).data(), static_cast<uint32_t>(ItemSize(entry.dtype))};
}

std::string MatrixReader::description() const {
  const SectionEntry* entry = container_ ? container_->Find(SectionKind::kDescription) : nullptr;
  // This reader ignores a description in another encoding or type, as it may.
  if (entry == nullptr || entry->dtype != DType::kUInt8) return "";
  if (entry->stored_bytes > kMostDescriptionBytes) {
    throw FormatError(file_->path(), "description", Number(entry->stored_bytes) + " bytes",
                      "at most " + Number(kMostDescriptionBytes));
  }
  std::string text(entry->stored_bytes, '\0');
  file_->Read(entry->offset, std::as_writable_bytes(std::span(text)));
  return text;
}

Fingerprint MatrixReader::fingerprint() const {
  return container_ ? container_->header().fingerprint : Fingerprint{};
}

}  // namespace graphzero::store
