// Text as the compiler takes it, and a place for what it makes of it.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "compile/text/text_source.h"
#include "harness.h"

namespace graphzero::fuzz {

// Gives a text a few bytes at a time, as decompressors do.
class SlowStream final : public compile::ByteStream {
 public:
  explicit SlowStream(std::span<const uint8_t> text) : text_(text) {}

  size_t Read(std::span<char> out) override {
    const size_t count = std::min(out.size(), text_.size() - at_);
    if (count > 0) std::memcpy(out.data(), text_.data() + at_, count);
    at_ += count;
    return count;
  }
  uint64_t stored_position() const override { return at_; }

 private:
  std::span<const uint8_t> text_;
  size_t at_ = 0;
};

// The same text as a file or as a stream.
class TextInput {
 public:
  void Fill(std::span<const uint8_t> text) {
    text_ = text;
    file_.Fill(text);
  }
  std::unique_ptr<compile::TextSource> Open(bool as_stream) const {
    if (!as_stream) return std::make_unique<compile::FileTextSource>(file_.path());
    return std::make_unique<compile::StreamTextSource>(
        "stream", [text = text_] { return std::make_unique<SlowStream>(text); }, text_.size());
  }

 private:
  MemoryFile file_;
  std::span<const uint8_t> text_;
};

// A directory in memory where one file at a time is made, read and removed.
class Workshop {
 public:
  Workshop() {
    std::string pattern = "/dev/shm/graphzero-fuzz-XXXXXX";
    Require(mkdtemp(pattern.data()) != nullptr, "a directory can be made in /dev/shm");
    directory_ = pattern;
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
  ~Workshop() { std::filesystem::remove_all(directory_); }

  const std::string& directory() const { return directory_; }
  // A name that nothing has.
  std::string NewFile(const char* name) const {
    const std::string path = directory_ + "/" + name;
    unlink(path.c_str());
    return path;
  }

 private:
  std::string directory_;
};

}  // namespace graphzero::fuzz
