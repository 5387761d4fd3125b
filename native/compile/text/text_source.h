// Text handed out in pieces of whole lines, to several threads at once: a file, or a stream that is
// produced while it is read, such as a compressed file.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace graphzero::compile {

// Whole lines of a text. It ends with '\n' (one is added at the end of a text that lacks it) and
// kPadding readable bytes follow, so that a parser may load eight bytes anywhere.
struct TextChunk {
  static constexpr size_t kPadding = 64;

  uint64_t index = 0;   // 0, 1, 2, ... in the order of the text
  uint64_t offset = 0;  // of text[0] in the whole text
  std::string_view text;
  std::vector<char> buffer;  // owns the text; reused from chunk to chunk
  uint64_t input_units = 0;  // how much of TextSource::input_units() it stands for
};

// Thread-safe: any number of threads may call Next(), each with a chunk of its own.
class TextSource {
 public:
  // Small enough that a chunk and what is parsed from it stay in a core's cache.
  static constexpr uint64_t kChunkBytes = uint64_t{256} << 10;
  // A longer line is taken as a sign that the file is not text.
  static constexpr uint64_t kMaxLineBytes = uint64_t{64} << 20;

  virtual ~TextSource() = default;

  const std::string& path() const { return path_; }

  // Bytes of text; of a stream, an estimate.
  virtual uint64_t size() const = 0;
  // Peek() is cheap within this many bytes from the start.
  virtual uint64_t peekable() const = 0;
  // The sum of input_units over all chunks: stored bytes.
  virtual uint64_t input_units() const = 0;

  // Takes the next chunk; false at the end. Chunks may be empty. Throws IoError, InputError.
  virtual bool Next(TextChunk* chunk) = 0;

  // Lets Next() begin again at the first chunk. Must not be called while another thread is in
  // Next().
  virtual void Rewind() = 0;

  // The lines that begin in [offset, offset + length), without taking part in Next(). For looking
  // at the head of a text, for samples and for messages.
  virtual TextChunk Peek(uint64_t offset, uint64_t length) const = 0;

  // 1-based number of the line that contains this byte. Reads the text up to there: for messages.
  virtual uint64_t LineNumber(uint64_t offset) const = 0;

  // Opens the same text again, at its start.
  virtual std::unique_ptr<TextSource> Reopen() const = 0;

 protected:
  explicit TextSource(std::string path) : path_(std::move(path)) {}

  // "x.csv line 3: longer than 64 MiB; is this a text file?"
  [[noreturn]] void ThrowLongLine(uint64_t line) const;

 private:
  std::string path_;
};

// A regular file. Reads with pread, not through a mapping: as fast, and a file that shrinks
// meanwhile is an error instead of SIGBUS.
class FileTextSource final : public TextSource {
 public:
  explicit FileTextSource(const std::string& path);

  uint64_t size() const override { return size_; }
  uint64_t peekable() const override { return size_; }
  uint64_t input_units() const override { return size_; }
  bool Next(TextChunk* chunk) override;
  void Rewind() override { next_ = 0; }
  TextChunk Peek(uint64_t offset, uint64_t length) const override;
  uint64_t LineNumber(uint64_t offset) const override;
  std::unique_ptr<TextSource> Reopen() const override;

 private:
  void Fill(TextChunk* chunk, uint64_t begin, uint64_t end) const;

  base::Fd fd_;
  uint64_t size_;
  uint64_t start_ = 0;  // after a byte order mark
  std::atomic<uint64_t> next_{0};
};

// Bytes that can be read once, in order. Used by one thread at a time.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills as much of `out` as it can, all of it unless the stream ends; 0 is the end.
  virtual size_t Read(std::span<char> out) = 0;
  // Stored bytes that were used up so far.
  virtual uint64_t stored_position() const = 0;
};

using OpenStream = std::function<std::unique_ptr<ByteStream>()>;

// One thread at a time reads the stream, in Next(), while the others parse what it gave them.
// Looking at a place beyond the head means reading the stream from its start: for messages only.
class StreamTextSource final : public TextSource {
 public:
  // `stored_bytes` is what stored_position() ends at.
  StreamTextSource(const std::string& path, OpenStream open, uint64_t stored_bytes);

  uint64_t size() const override { return size_; }
  uint64_t peekable() const override { return head_.size(); }
  uint64_t input_units() const override { return stored_bytes_; }
  bool Next(TextChunk* chunk) override;
  void Rewind() override;
  TextChunk Peek(uint64_t offset, uint64_t length) const override;
  uint64_t LineNumber(uint64_t offset) const override;
  std::unique_ptr<TextSource> Reopen() const override;

 private:
  std::unique_ptr<ByteStream> OpenAtText() const;
  // The lines of `text` (which begins at `text_offset`) that begin in [offset, offset + length).
  static std::string_view LinesIn(std::string_view text, uint64_t text_offset, uint64_t offset,
                                  uint64_t length);

  OpenStream open_;
  uint64_t stored_bytes_;
  std::vector<char> head_;  // the first bytes of the text
  uint64_t size_ = 0;

  std::mutex mutex_;  // guards the members below
  std::unique_ptr<ByteStream> stream_;
  std::vector<char> carry_;  // the start of a line whose end was not read yet
  uint64_t next_index_ = 0;
  uint64_t offset_ = 0;   // of carry_ in the text
  uint64_t counted_ = 0;  // stored bytes that chunks stand for so far
  bool ended_ = false;
};

// At most 60 characters of a line, quoted, for a message.
std::string Shorten(std::string_view line);

}  // namespace graphzero::compile
