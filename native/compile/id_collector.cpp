#include "compile/id_collector.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <queue>
#include <stdexcept>

#include "compile/id_hash.h"
#include "compile/text_source.h"
#include "store/errors.h"
#include "store/matrix_writer.h"

namespace graphzero::compile {
namespace {

constexpr int64_t kFree = std::numeric_limits<int64_t>::min();
constexpr uint64_t kFirstSlots = uint64_t{1} << 12;
constexpr uint64_t kCancelEvery = uint64_t{1} << 16;

store::MatrixWriter NewIntegers(const std::string& path) {
  return {path, {std::nullopt, 1, 1, store::DType::kInt64, store::Role::kNode, sizeof(int64_t)}};
}

store::MatrixWriter NewTexts(const std::string& path, size_t width) {
  return {path, {std::nullopt, width, 2, store::DType::kUInt8, store::Role::kNode, width}};
}

// Calls visit(value) for the values of all sorted runs in ascending order, each once. Read(reader,
// *value) reads the next value of a run.
template <class Value, class ReadValue, class Visit>
void MergeRuns(const RunFile& file, std::span<const RunFile::Run> runs, const ReadValue& read,
               const Visit& visit) {
  struct Head {
    Value value;
    size_t run;
    bool operator>(const Head& other) const { return value > other.value; }
  };
  std::vector<RunFile::Reader> readers;
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  for (const RunFile::Run& run : runs) {
    readers.emplace_back(file, run);
    Head head{{}, readers.size() - 1};
    if (read(&readers.back(), &head.value)) heads.push(std::move(head));
  }
  std::optional<Value> last;
  while (!heads.empty()) {
    Head head = heads.top();
    heads.pop();
    if (!last || *last != head.value) visit(head.value);
    last = head.value;
    if (read(&readers[head.run], &head.value)) heads.push(std::move(head));
  }
}

// Appends rows in pieces, and lets the job be cancelled between them.
class RowBuffer {
 public:
  RowBuffer(store::MatrixWriter* out, Progress* progress) : out_(out), progress_(progress) {}

  void Append(const void* row, size_t bytes, size_t width) {
    const auto* begin = static_cast<const std::byte*>(row);
    rows_.insert(rows_.end(), begin, begin + bytes);
    rows_.resize(rows_.size() + width - bytes);
    if (++count_ % kCancelEvery == 0) Flush();
  }
  void Flush() {
    progress_->ThrowIfCancelled();
    out_->Append(rows_);
    rows_.clear();
  }

 private:
  store::MatrixWriter* out_;
  Progress* progress_;
  std::vector<std::byte> rows_;
  uint64_t count_ = 0;
};

}  // namespace

void TextView::Check() const {
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    if (offsets[i] < 0 || offsets[i] > offsets[i + 1]) {
      throw std::invalid_argument("offsets of texts must rise");
    }
  }
  if (!offsets.empty() && static_cast<uint64_t>(offsets.back()) > data.size()) {
    throw std::invalid_argument("offsets of texts must lie inside their data");
  }
}

IntegerIdCollector::IntegerIdCollector(const Resources& resources)
    : resources_(resources),
      // Half of the memory: the other half is for the old table while it grows, and for sorting.
      most_slots_(std::max(std::bit_floor(resources.memory / 2 / sizeof(int64_t)), kFirstSlots)),
      slots_(kFirstSlots, kFree) {}

void IntegerIdCollector::Add(std::span<const int64_t> ids) {
  constexpr size_t kAhead = 16;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (2 * used_ >= slots_.size()) {
      if (slots_.size() < most_slots_) {
        Grow();
      } else {
        Spill();
      }
    }
    if (i + kAhead < ids.size()) {
      __builtin_prefetch(&slots_[HashId(ids[i + kAhead]) & (slots_.size() - 1)], 1);
    }
    Insert(ids[i]);
  }
}

void IntegerIdCollector::Insert(int64_t id) {
  if (id == kFree) {
    has_marker_ = true;
    return;
  }
  const uint64_t mask = slots_.size() - 1;
  uint64_t at = HashId(id) & mask;
  while (slots_[at] != kFree) {
    if (slots_[at] == id) return;
    at = (at + 1) & mask;
  }
  slots_[at] = id;
  ++used_;
}

void IntegerIdCollector::Grow() {
  std::vector<int64_t> old(2 * slots_.size(), kFree);
  old.swap(slots_);
  used_ = 0;
  for (const int64_t id : old) {
    if (id != kFree) Insert(id);
  }
}

std::vector<int64_t> IntegerIdCollector::TakeSorted() {
  std::vector<int64_t> ids;
  ids.reserve(used_ + 1);
  if (has_marker_) ids.push_back(kFree);
  for (const int64_t id : slots_) {
    if (id != kFree) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  std::fill(slots_.begin(), slots_.end(), kFree);
  used_ = 0;
  has_marker_ = false;
  return ids;
}

void IntegerIdCollector::Spill() {
  if (!file_) file_ = std::make_unique<RunFile>(resources_.temp_dir);
  file_->Append(std::as_bytes(std::span<const int64_t>(TakeSorted())));
  runs_.push_back(file_->End());
}

uint64_t IntegerIdCollector::Write(const std::string& path, Progress* progress) {
  progress->Start("sorting ids", 0);
  store::MatrixWriter out = NewIntegers(path);
  if (runs_.empty()) {
    const std::vector<int64_t> ids = TakeSorted();
    out.Append(std::as_bytes(std::span(ids)));
  } else {
    Spill();
    slots_ = {};
    file_->Flush();
    RowBuffer rows(&out, progress);
    MergeRuns<int64_t>(
        *file_, runs_,
        [](RunFile::Reader* reader, int64_t* id) {
          return reader->Read(std::as_writable_bytes(std::span(id, 1)));
        },
        [&](int64_t id) { rows.Append(&id, sizeof id, sizeof id); });
    rows.Flush();
  }
  out.Finish();
  return out.rows_written();
}

TextIdCollector::TextIdCollector(const Resources& resources)
    : resources_(resources),
      most_bytes_(std::max<uint64_t>(resources.memory / 3, kFirstSlots * 2 * sizeof(Entry))),
      slots_(kFirstSlots) {}

void TextIdCollector::Add(const TextView& ids, const std::string& name, uint64_t first_row) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string_view text = ids[i];
    const bool has_zero = std::memchr(text.data(), '\0', text.size()) != nullptr;
    if (text.empty() || text.size() > kMaxBytes || has_zero) {
      const std::string found = text.empty() ? "an empty id"
                                : has_zero   ? "an id with a zero byte, " + Shorten(text)
                                             : "an id of " + std::to_string(text.size()) + " bytes";
      throw InputError(name + " row " + std::to_string(first_row + i) + ": found " + found +
                       ", expected a text of 1 to " + std::to_string(kMaxBytes) + " bytes");
    }
    if (2 * used_ >= slots_.size()) Grow();
    Insert(text);
    if (arena_.size() + slots_.size() * sizeof(Entry) >= most_bytes_) Spill();
  }
}

void TextIdCollector::Insert(std::string_view text) {
  const uint64_t hash = HashId(text);
  const auto tag = static_cast<uint32_t>(hash >> 32);
  const uint64_t mask = slots_.size() - 1;
  uint64_t at = hash & mask;
  for (; slots_[at].bytes != 0; at = (at + 1) & mask) {
    if (slots_[at].tag == tag && TextOf(slots_[at]) == text) return;
  }
  slots_[at] = {arena_.size(), static_cast<uint32_t>(text.size()), tag};
  arena_.insert(arena_.end(), text.begin(), text.end());
  width_ = std::max(width_, text.size());
  ++used_;
}

void TextIdCollector::Grow() {
  std::vector<Entry> old(2 * slots_.size());
  old.swap(slots_);
  const uint64_t mask = slots_.size() - 1;
  for (const Entry& entry : old) {
    if (entry.bytes == 0) continue;
    uint64_t at = HashId(TextOf(entry)) & mask;
    while (slots_[at].bytes != 0) at = (at + 1) & mask;
    slots_[at] = entry;
  }
}

std::vector<TextIdCollector::Entry> TextIdCollector::TakeSorted() {
  std::vector<Entry> entries;
  entries.reserve(used_);
  for (const Entry& entry : slots_) {
    if (entry.bytes != 0) entries.push_back(entry);
  }
  std::sort(entries.begin(), entries.end(),
            [this](const Entry& a, const Entry& b) { return TextOf(a) < TextOf(b); });
  slots_.assign(kFirstSlots, {});
  used_ = 0;
  return entries;
}

void TextIdCollector::Spill() {
  if (!file_) file_ = std::make_unique<RunFile>(resources_.temp_dir);
  for (const Entry& entry : TakeSorted()) {
    file_->Append(std::as_bytes(std::span(&entry.bytes, 1)));
    file_->Append(std::as_bytes(std::span(TextOf(entry))));
  }
  runs_.push_back(file_->End());
  arena_.clear();
}

uint64_t TextIdCollector::Write(const std::string& path, Progress* progress) {
  progress->Start("sorting ids", 0);
  store::MatrixWriter out = NewTexts(path, std::max<size_t>(width_, 1));
  RowBuffer rows(&out, progress);
  if (runs_.empty()) {
    for (const Entry& entry : TakeSorted()) {
      rows.Append(arena_.data() + entry.offset, entry.bytes, width_);
    }
  } else {
    Spill();
    file_->Flush();
    MergeRuns<std::string>(
        *file_, runs_,
        [](RunFile::Reader* reader, std::string* text) {
          uint32_t bytes;
          if (!reader->Read(std::as_writable_bytes(std::span(&bytes, 1)))) return false;
          text->resize(bytes);
          return reader->Read(std::as_writable_bytes(std::span(*text)));
        },
        [&](const std::string& text) { rows.Append(text.data(), text.size(), width_); });
  }
  rows.Flush();
  out.Finish();
  return out.rows_written();
}

}  // namespace graphzero::compile
