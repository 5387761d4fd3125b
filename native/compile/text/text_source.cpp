#include "compile/text/text_source.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/errors.h"

namespace graphzero::compile {
namespace {

constexpr uint64_t kExtend = uint64_t{64} << 10;
constexpr std::string_view kMark = "\xef\xbb\xbf";  // the byte order mark in UTF-8

uint64_t CountLines(std::span<const char> text) {
  return static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

// Makes the bytes [first, size) of the buffer, which are whole lines, the chunk's text.
void Seal(TextChunk* chunk, size_t first, size_t size) {
  std::vector<char>& buffer = chunk->buffer;
  buffer.resize(size + TextChunk::kPadding);
  std::fill(buffer.begin() + static_cast<ptrdiff_t>(size), buffer.end(), '\0');
  chunk->text = {buffer.data() + first, size - first};
}

}  // namespace

void TextSource::ThrowLongLine(uint64_t line) const {
  throw InputError(path_ + " line " + std::to_string(line) + ": longer than " +
                   std::to_string(kMaxLineBytes >> 20) + " MiB; is this a text file?");
}

FileTextSource::FileTextSource(const std::string& path)
    : TextSource(path), fd_(base::OpenForReading(path)), size_(base::RegularFileSize(fd_, path)) {
  (void)::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  char mark[kMark.size()] = {};
  if (size_ >= sizeof mark) {
    base::ReadExactly(fd_, 0, std::as_writable_bytes(std::span(mark)), path);
    if (std::string_view(mark, sizeof mark) == kMark) start_ = sizeof mark;
  }
}

std::unique_ptr<TextSource> FileTextSource::Reopen() const {
  return std::make_unique<FileTextSource>(path());
}

bool FileTextSource::Next(TextChunk* chunk) {
  chunk->index = next_.fetch_add(1, std::memory_order_relaxed);
  const uint64_t begin = chunk->index * kChunkBytes;
  if (begin >= size_) return false;
  chunk->input_units = std::min(kChunkBytes, size_ - begin);
  Fill(chunk, begin, begin + chunk->input_units);
  return true;
}

TextChunk FileTextSource::Peek(uint64_t offset, uint64_t length) const {
  TextChunk chunk;
  const uint64_t begin = std::min(offset, size_);
  Fill(&chunk, begin, begin + std::min(length, size_ - begin));
  return chunk;
}

// A chunk owns the lines that begin in [begin, end): a line begins at the file's start or after a
// newline. So it looks for a newline from begin - 1 on, and reads past `end` to finish its last
// line.
void FileTextSource::Fill(TextChunk* chunk, uint64_t begin, uint64_t end) const {
  begin = std::max(begin, start_);
  const uint64_t from = begin > start_ ? begin - 1 : begin;
  std::vector<char>& buffer = chunk->buffer;
  chunk->text = {};
  chunk->offset = begin;
  if (from >= end) return;
  const auto read_to = [&](uint64_t to) {
    const uint64_t have = buffer.size();
    buffer.resize(to - from);
    base::ReadExactly(fd_, from + have, std::as_writable_bytes(std::span(buffer)).subspan(have),
                      path());
  };
  buffer.clear();
  buffer.reserve(end - from + kExtend + TextChunk::kPadding);
  read_to(end);

  size_t first = 0;
  if (begin > start_) {
    const void* newline = std::memchr(buffer.data(), '\n', buffer.size());
    if (newline == nullptr) return;  // inside a line that an earlier chunk owns
    first = static_cast<size_t>(static_cast<const char*>(newline) - buffer.data()) + 1;
    if (from + first >= end) return;
  }
  size_t last = buffer.size();  // one past the newline that ends the last line
  if (buffer.back() != '\n') {
    for (;;) {
      const uint64_t have = from + buffer.size();
      if (have == size_) {
        buffer.push_back('\n');
        last = buffer.size();
        break;
      }
      if (have - end > kMaxLineBytes) {
        ThrowLongLine(LineNumber(end));
      }
      const size_t searched = buffer.size();
      read_to(std::min(have + kExtend, size_));
      const void* newline = std::memchr(buffer.data() + searched, '\n', buffer.size() - searched);
      if (newline != nullptr) {
        last = static_cast<size_t>(static_cast<const char*>(newline) - buffer.data()) + 1;
        break;
      }
    }
  }
  chunk->offset = from + first;
  Seal(chunk, first, last);
}

uint64_t FileTextSource::LineNumber(uint64_t offset) const {
  std::vector<char> buffer(uint64_t{1} << 20);
  uint64_t lines = 1;
  for (uint64_t at = 0; at < std::min(offset, size_);) {
    const size_t size = std::min<uint64_t>(buffer.size(), std::min(offset, size_) - at);
    base::ReadExactly(fd_, at, std::as_writable_bytes(std::span(buffer)).first(size), path());
    lines += CountLines(std::span(buffer).first(size));
    at += size;
  }
  return lines;
}

StreamTextSource::StreamTextSource(const std::string& path, OpenStream open, uint64_t stored_bytes)
    : TextSource(path), open_(std::move(open)), stored_bytes_(stored_bytes) {
  Rewind();
  head_.resize(kChunkBytes);
  const auto probe = OpenAtText();
  head_.resize(probe->Read(head_));
  size_ = head_.size();
  const uint64_t used = probe->stored_position();
  if (size_ == kChunkBytes && used != 0 && used < stored_bytes) {
    const double ratio = static_cast<double>(size_) / static_cast<double>(used);
    size_ = std::max(size_, static_cast<uint64_t>(ratio * static_cast<double>(stored_bytes)));
  }
}

// Opens the stream and skips a byte order mark.
std::unique_ptr<ByteStream> StreamTextSource::OpenAtText() const {
  std::unique_ptr<ByteStream> stream = open_();
  char mark[kMark.size()] = {};
  const size_t size = stream->Read(mark);
  if (std::string_view(mark, size) == kMark) return stream;
  return open_();
}

void StreamTextSource::Rewind() {
  std::lock_guard lock(mutex_);
  stream_.reset();
  carry_.clear();
  next_index_ = 0;
  offset_ = 0;
  counted_ = 0;
  ended_ = false;
}

bool StreamTextSource::Next(TextChunk* chunk) {
  std::lock_guard lock(mutex_);
  // Indexes are counted even at the end and before a failure, because threads with later chunks may
  // wait for this one.
  chunk->index = next_index_++;
  chunk->text = {};
  chunk->input_units = 0;
  if (ended_) return false;
  if (!stream_) stream_ = OpenAtText();
  std::vector<char>& buffer = chunk->buffer;
  buffer.assign(carry_.begin(), carry_.end());
  buffer.reserve(carry_.size() + kChunkBytes + TextChunk::kPadding);
  chunk->offset = offset_;
  size_t last = 0;  // one past the last newline
  while (last == 0) {
    const size_t have = buffer.size();
    if (have > kMaxLineBytes) ThrowLongLine(LineNumber(offset_));
    buffer.resize(have + kChunkBytes);
    const size_t read = stream_->Read(std::span(buffer).subspan(have));
    buffer.resize(have + read);
    if (read < kChunkBytes) {
      ended_ = true;
      if (!buffer.empty() && buffer.back() != '\n') buffer.push_back('\n');
      last = buffer.size();
      break;
    }
    const void* newline = ::memrchr(buffer.data() + have, '\n', read);
    if (newline != nullptr) {
      last = static_cast<size_t>(static_cast<const char*>(newline) - buffer.data()) + 1;
    }
  }
  carry_.assign(buffer.begin() + static_cast<ptrdiff_t>(last), buffer.end());
  offset_ += last;
  const uint64_t used = ended_ ? stored_bytes_ : stream_->stored_position();
  chunk->input_units = used - std::exchange(counted_, used);
  Seal(chunk, 0, last);
  return true;
}

std::string_view StreamTextSource::LinesIn(std::string_view text, uint64_t text_offset,
                                           uint64_t offset, uint64_t length) {
  const auto first_line_at_or_after = [&](size_t at, uint64_t place) {
    while (at < text.size() && text_offset + at < place) at = text.find('\n', at) + 1;
    return at;
  };
  const size_t begin = first_line_at_or_after(0, offset);
  const size_t end = first_line_at_or_after(begin, offset + length);
  return text.substr(begin, end - begin);
}

TextChunk StreamTextSource::Peek(uint64_t offset, uint64_t length) const {
  TextChunk chunk;
  std::string_view head(head_.data(), head_.size());
  head = head.substr(0, head.rfind('\n') + 1);
  if (offset + length <= head.size()) {
    const std::string_view lines = LinesIn(head, 0, offset, length);
    chunk.offset = static_cast<uint64_t>(lines.data() - head.data());
    chunk.buffer.assign(lines.begin(), lines.end());
    Seal(&chunk, 0, chunk.buffer.size());
    return chunk;
  }
  StreamTextSource copy(path(), open_, stored_bytes_);
  TextChunk part;
  while (copy.Next(&part)) {
    const std::string_view lines = LinesIn(part.text, part.offset, offset, length);
    if (chunk.buffer.empty()) {
      chunk.offset = part.offset + static_cast<uint64_t>(lines.data() - part.text.data());
    }
    chunk.buffer.insert(chunk.buffer.end(), lines.begin(), lines.end());
    if (part.offset + part.text.size() >= offset + length) break;
  }
  Seal(&chunk, 0, chunk.buffer.size());
  return chunk;
}

uint64_t StreamTextSource::LineNumber(uint64_t offset) const {
  const auto stream = OpenAtText();
  std::vector<char> buffer(kChunkBytes);
  uint64_t lines = 1;
  for (uint64_t at = 0; at < offset;) {
    const size_t read = stream->Read(
        std::span(buffer).first(static_cast<size_t>(std::min<uint64_t>(kChunkBytes, offset - at))));
    if (read == 0) break;
    lines += CountLines(std::span(buffer).first(read));
    at += read;
  }
  return lines;
}

std::unique_ptr<TextSource> StreamTextSource::Reopen() const {
  return std::make_unique<StreamTextSource>(path(), open_, stored_bytes_);
}

std::string Shorten(std::string_view line) {
  constexpr size_t kMost = 60;
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  std::string text(line.substr(0, kMost));
  for (char& c : text) {
    // Only ASCII is certain to be valid in the encoding of the message, whatever the file is in.
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t') || byte > 0x7e) c = '?';
  }
  return "\"" + text + (line.size() > kMost ? "...\"" : "\"");
}

}  // namespace graphzero::compile
