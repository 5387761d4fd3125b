#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "base/hash.h"
#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "bindings/gil.h"
#include "store/container/block_list.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace graphzero::bindings {
namespace {

using store::BlockList;
using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::tuple DataBlocks(const BlockList& list) {
  std::vector<uint64_t> offsets, sizes, checksums;
  {
    GilRelease release;
    for (const store::FileBlock& block : list.DataBlocks()) {
      offsets.push_back(block.offset);
      sizes.push_back(block.bytes);
      checksums.push_back(block.checksum);
    }
  }
  return nb::make_tuple(TakeVector(std::move(offsets)), TakeVector(std::move(sizes)),
                        TakeVector(std::move(checksums)));
}

uint64_t Checksum(const Bytes& bytes) {
  GilRelease release;
  return base::Checksum(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

}  // namespace

void BindBlocks(nb::module_& m) {
  m.attr("CHECKSUM_BLOCK") = store::kChecksumBlock;
  m.attr("MOST_HEAD_BYTES") = BlockList::kMostHeadBytes;
  m.def("checksum", &Checksum, "bytes"_a, nb::sig("def checksum(bytes: memoryview) -> int"),
        "XXH3 in 64 bits, as files have it for each block.");
  nb::class_<BlockList>(m, "BlockList")
      .def_static("open", &BlockList::Open, "path"_a, nb::call_guard<GilRelease>(),
                  "None for a file of GraphZero 0.2, which has no checksums.")
      .def_prop_ro("fingerprint",
                   [](const BlockList& list) {
                     const store::Fingerprint& found = list.fingerprint();
                     return nb::bytes(reinterpret_cast<const char*>(found.data()), found.size());
                   })
      .def_prop_ro("head_bytes", &BlockList::HeadBytes)
      .def_prop_ro("checksum_table",
                   [](const BlockList& list) {
                     const store::FileBlock table = list.ChecksumTable();
                     return std::tuple(table.offset, table.bytes, table.checksum);
                   })
      .def(
          "data_blocks", &DataBlocks,
          nb::sig("def data_blocks(self) -> tuple[NDArray[numpy.uint64], NDArray[numpy.uint64], "
                  "NDArray[numpy.uint64]]"),
          "Offsets, sizes and checksums of the blocks of all sections but the table of checksums.");
}

}  // namespace graphzero::bindings
