// Feature tables as text. Options in the first two bytes; the rest is the text. Whatever compiles
// must be a file without fault, of the same bytes whether it came from a file or from a stream.
#include "compile/matrices/matrix_compiler.h"
#include "store/matrix/matrix_reader.h"
#include "store/verify/verify.h"
#include "text_input.h"

namespace graphzero::fuzz {
namespace {

constexpr uint64_t kRows = 64;
constexpr store::DType kTypes[] = {
    store::DType::kFloat32, store::DType::kFloat64, store::DType::kFloat16, store::DType::kBFloat16,
    store::DType::kInt8,    store::DType::kUInt8,   store::DType::kInt16,   store::DType::kInt32,
    store::DType::kInt64,   store::DType::kBool,
};

compile::MatrixTextJob JobOf(InputHead* head, const Workshop& workshop) {
  const uint8_t bits = head->Byte();
  const uint8_t type = head->Byte();
  const bool has_ids = bits & 1;
  return {
      .target = "",
      .description = "",
      .dtype = kTypes[type % std::size(kTypes)],
      .role = store::Role::kNode,
      .num_rows = kRows,
      .has_ids = has_ids,
      .always_2d = (bits & 2) != 0,
      .row_align = bits & 4 ? uint64_t{64} : uint64_t{0},
      .nan = bits & 8 ? std::optional<std::string>("1") : std::nullopt,
      .fill = bits & 16 ? std::optional<std::string>("0") : std::nullopt,
      .skip_bad_lines = has_ids && (bits & 32) != 0,
      .resources = {bits & 64 ? uint64_t{1} << 14 : uint64_t{1} << 20, 1, workshop.directory()},
  };
}

// The fingerprint of what was made; nothing if the text was refused.
std::optional<store::Fingerprint> Compile(const TextInput& text, compile::MatrixTextJob job,
                                          const Workshop& workshop, bool as_stream) {
  job.target = workshop.NewFile("x.gd");
  std::optional<store::Fingerprint> made;
  Tolerate([&] {
    compile::Progress progress;
    const auto report = compile::CompileMatrixText(text.Open(as_stream), job, &progress);
    const auto matrix = store::MatrixReader::Open(job.target);
    Require(matrix.rows() == report.rows && matrix.cols() == report.cols,
            "the file has the shape of the report");
    Require(store::Verify(matrix, {.threads = 1, .advance = [](uint64_t) {}}).empty(),
            "what the compiler writes has no fault");
    made = matrix.fingerprint();
  });
  return made;
}

void Exercise(std::span<const uint8_t> input) {
  static TextInput text;
  static Workshop workshop;
  InputHead head(input);
  const compile::MatrixTextJob job = JobOf(&head, workshop);
  text.Fill(head.rest());
  const auto from_file = Compile(text, job, workshop, false);
  const auto from_stream = Compile(text, job, workshop, true);
  Require(from_file == from_stream, "a stream gives what the file gives");
}

}  // namespace
}  // namespace graphzero::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  graphzero::fuzz::Exercise({data, size});
  return 0;
}
