#include "gather/gather.h"

#include "bindings/arrays.h"
#include "bindings/bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace graphzero::bindings {
namespace {

using OutputBytes = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void Gather(const store::MatrixReader& matrix, const IdArray& ids, const OutputBytes& out,
            int threads) {
  const size_t expected = ids.size() * matrix.row_bytes();
  if (out.size() != expected) {
    throw std::invalid_argument("out has " + std::to_string(out.size()) + " bytes, expected " +
                                std::to_string(expected));
  }
  nb::gil_scoped_release release;
  gather::GatherRows(matrix, {ids.data(), ids.size()}, reinterpret_cast<std::byte*>(out.data()),
                     threads);
}

}  // namespace

void BindGather(nb::module_& m) {
  m.def("gather", &Gather, "matrix"_a, "ids"_a, "out"_a, nb::kw_only(), "threads"_a = 0);
}

}  // namespace graphzero::bindings
