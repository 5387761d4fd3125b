#include "bindings/text_input.h"

#include <cstring>

#include "bindings/callbacks.h"
#include "bindings/gil.h"

namespace nb = nanobind;

namespace graphzero::bindings {
namespace {

class PythonStream final : public compile::ByteStream {
 public:
  explicit PythonStream(nb::object stream) : stream_(HoldObject(std::move(stream))) {}

  size_t Read(std::span<char> out) override {
    GilAcquire acquire;
    size_t filled = 0;
    while (filled < out.size()) {
      const auto piece = nb::cast<nb::bytes>(stream_->attr("read")(out.size() - filled));
      if (piece.size() == 0) break;
      if (piece.size() > out.size() - filled) {
        throw nb::value_error("read(n) of a text input returned more than n bytes");
      }
      std::memcpy(out.data() + filled, piece.c_str(), piece.size());
      filled += piece.size();
    }
    position_ = nb::cast<uint64_t>(stream_->attr("stored_position")());
    return filled;
  }

  uint64_t stored_position() const override { return position_; }

 private:
  std::shared_ptr<nb::object> stream_;
  uint64_t position_ = 0;
};

}  // namespace

std::unique_ptr<compile::TextSource> OpenText(const std::string& path, const nb::object& open,
                                              uint64_t stored_bytes) {
  if (open.is_none()) return std::make_unique<compile::FileTextSource>(path);
  const auto opener = HoldObject(open);
  const auto open_stream = [opener]() -> std::unique_ptr<compile::ByteStream> {
    GilAcquire acquire;
    return std::make_unique<PythonStream>((*opener)());
  };
  return std::make_unique<compile::StreamTextSource>(path, open_stream, stored_bytes);
}

}  // namespace graphzero::bindings
