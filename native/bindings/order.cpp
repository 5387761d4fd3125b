#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "bindings/run_job.h"
#include "compile/order/column_order.h"
#include "compile/order/node_order.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace graphzero::bindings {
namespace {

using compile::BlockEstimate;
using compile::NodeOrder;
using compile::Progress;
using compile::Resources;
using store::MatrixReader;

std::shared_ptr<NodeOrder> MakeOrder(const store::TopologyReader& graph, bool communities,
                                     const Resources& resources, const nb::object& report) {
  const auto kind = communities ? compile::OrderKind::kCommunity : compile::OrderKind::kDegree;
  std::shared_ptr<NodeOrder> order;
  RunJob(report, [&](Progress* progress) {
    order = std::make_shared<NodeOrder>(NodeOrder::Make(graph, kind, resources, progress));
  });
  return order;
}

// A view that keeps the order alive.
nb::ndarray<nb::numpy, const uint32_t> Numbers(const std::shared_ptr<NodeOrder>& order,
                                               uint32_t type) {
  const std::span<const uint32_t> numbers = order->OfType(type);
  return nb::ndarray<nb::numpy, const uint32_t>(numbers.data(), {numbers.size()}, nb::find(order));
}

void ReorderRows(const NodeOrder& order, uint32_t type, const MatrixReader& column,
                 const std::string& path, const Resources& resources, const nb::object& report) {
  RunJob(report, [&](Progress* progress) {
    compile::ReorderRows(column, order.OfType(type), path, resources, progress);
  });
}

void RenumberIds(const NodeOrder& order, uint32_t type, const MatrixReader& column,
                 const std::string& path, const nb::object& report) {
  RunJob(report, [&](Progress* progress) {
    compile::RenumberIds(column, order.OfType(type), path, progress);
  });
}

void ReorderOriginalIds(const NodeOrder& order, uint32_t type,
                        const std::optional<MatrixReader>& ids, const std::string& path,
                        const std::string& description, const Resources& resources,
                        const nb::object& report) {
  RunJob(report, [&](Progress* progress) {
    compile::ReorderOriginalIds(ids, order.OfType(type), description, path, resources, progress);
  });
}

void IndexOriginalIds(const MatrixReader& ids, const std::string& path, const Resources& resources,
                      const nb::object& report) {
  RunJob(report,
         [&](Progress* progress) { compile::IndexOriginalIds(ids, path, resources, progress); });
}

}  // namespace

void BindOrder(nb::module_& m) {
  nb::class_<BlockEstimate>(m, "BlockEstimate")
      .def_ro("nodes", &BlockEstimate::nodes)
      .def_ro("blocks", &BlockEstimate::blocks)
      .def_ro("cold_blocks", &BlockEstimate::cold_blocks);
  nb::class_<NodeOrder>(m, "NodeOrder")
      .def_static("make", &MakeOrder, "graph"_a, nb::kw_only(), "communities"_a, "resources"_a,
                  "report"_a.none() = nb::none(),
                  "An order by communities, or by how often rows name a node.")
      .def("numbers", &Numbers, "type"_a = 0, "The new number of each node of a type.")
      .def_prop_ro("before", [](const NodeOrder& o) { return o.report().estimates.before; })
      .def_prop_ro("after", [](const NodeOrder& o) { return o.report().estimates.after; })
      .def_prop_ro("communities", [](const NodeOrder& o) { return o.report().communities; })
      .def_prop_ro("helps", &NodeOrder::helps,
                   "Whether batches would touch fewer blocks of a disk than before.")
      .def_prop_ro("byte_size", &NodeOrder::bytes)
      .def("reorder_rows", &ReorderRows, "type"_a, "column"_a, "path"_a, nb::kw_only(),
           "resources"_a, "report"_a.none() = nb::none(),
           "Writes a column of nodes in the new order. `path` must not exist.")
      .def("renumber_ids", &RenumberIds, "type"_a, "column"_a, "path"_a, nb::kw_only(),
           "report"_a.none() = nb::none(),
           "Writes a list of nodes with their new numbers, in the order that it has.")
      .def("reorder_original_ids", &ReorderOriginalIds, "type"_a, "ids"_a.none(), "path"_a,
           nb::kw_only(), "description"_a, "resources"_a, "report"_a.none() = nb::none(),
           "Writes original ids in the new order; None: the old numbers are the original ids.");
  m.def("index_original_ids", &IndexOriginalIds, "ids"_a, "path"_a, nb::kw_only(), "resources"_a,
        "report"_a.none() = nb::none(),
        "Writes original ids that do not ascend with the order in which they do.");
}

}  // namespace graphzero::bindings
