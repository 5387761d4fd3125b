#include "compile/edges/topology_compiler.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/text.h"
#include "compile/edges/memory_plan.h"
#include "store/container/container_writer.h"
#include "store/topology/schema.h"
#include "store/topology/topology_format.h"

namespace graphzero::compile {
namespace {

using base::Number;

// More nodes per edge than this suggest ids that were not meant to be dense.
constexpr uint64_t kNodesPerEdge = 1000;
constexpr uint64_t kPlausibleNodes = 100'000'000;
// Sizes of files are signed 64-bit numbers, and a node takes 8 bytes in each direction.
constexpr uint64_t kMostNodes = uint64_t{1} << 58;

void CheckWeightName(const std::string& name) {
  if (name.empty() || store::IsWeightName(name)) return;
  throw InputError("weights called '" + name +
                   "': expected 1 to 64 letters, digits and underscores");
}

void CheckTimeUnit(const std::string& unit) {
  if (unit.empty() || store::IsTimeUnit(unit)) return;
  throw InputError("found time unit '" + unit + "', expected D, s, ms, us or ns");
}

void CheckNodeCount(uint64_t count, const std::string& whose) {
  if (count <= kMostNodes) return;
  throw InputError(whose + ": found " + Number(count) + " nodes, expected at most " +
                   Number(kMostNodes) + ", for which one file has room");
}

// The number of nodes of a graph for which the user gave none.
uint64_t CountNodes(const RelationCompiler& edges) {
  const uint64_t slots = edges.report().num_edges + edges.report().dropped;
  if (slots == 0) {
    throw InputError(edges.source_name() +
                     ": found no edges, expected some; if there are none, give the number of nodes "
                     "(--num-nodes)");
  }
  const uint64_t max_id = edges.max_id();
  if (max_id >= kPlausibleNodes && max_id / kNodesPerEdge > slots) {
    throw InputError(edges.source_name() + ": the largest node id is " + Number(max_id) +
                     " but there are only " + Number(slots) +
                     " edges: ids are expected to run from 0 to the number "
                     "of nodes; if they do, give it (--num-nodes)");
  }
  return max_id + 1;
}

// What writing needs to know of a type.
struct TypeToWrite {
  uint64_t count = 0;
  NodeTimes times;
};

struct RelationToWrite {
  uint32_t source = 0;
  uint32_t target = 0;
  std::unique_ptr<RelationCompiler> edges;
};

// Everything that is known before the file is begun.
struct FileToWrite {
  std::vector<TypeToWrite> types;
  std::vector<RelationToWrite> relations;
  std::string schema;  // bytes of the section; empty: a graph without types
  std::string time_unit;
  uint32_t flags = 0;
  store::TopologyProperties properties{};
};

store::Fingerprint WriteFile(FileToWrite* graph, const std::string& path,
                             const Resources& resources, Progress* progress) {
  using store::DType;
  using store::SectionKind;
  std::vector<store::SectionSpec> sections;
  // Adds sections and returns where they begin.
  const auto add = [&](const std::vector<store::SectionSpec>& more) {
    const size_t first = sections.size();
    sections.insert(sections.end(), more.begin(), more.end());
    return first;
  };
  const auto text = [](SectionKind kind, const std::string& bytes, bool optional) {
    return store::SectionSpec{kind, DType::kUInt8, bytes.size(), bytes.size(), optional};
  };
  if (!graph->schema.empty()) add({text(SectionKind::kSchema, graph->schema, false)});
  std::vector<size_t> type_sections, relation_sections;
  for (uint32_t t = 0; t < graph->types.size(); ++t) {
    type_sections.push_back(add(SectionsOf(graph->types[t].times, t)));
  }
  const auto count = [&](uint32_t type) { return graph->types[type].count; };
  for (const RelationToWrite& r : graph->relations) {
    relation_sections.push_back(add(r.edges->Sections(count(r.source), count(r.target))));
  }
  if (!graph->time_unit.empty()) add({text(SectionKind::kTimeUnit, graph->time_unit, true)});
  if (sections.size() + 1 > store::kMaxSections) {
    throw InputError(path + ": found " + Number(graph->relations.size()) + " relations with " +
                     Number(sections.size()) + " sections, expected at most " +
                     Number(store::kMaxSections - 1) +
                     ": store fewer relations, one direction of them, or no edge ids");
  }

  store::ContainerWriter file(path, store::kTopologyMagic, sections);
  const auto write_text = [&](size_t section, const std::string& bytes) {
    file.stream(section).Append(std::as_bytes(std::span(bytes)));
  };
  if (!graph->schema.empty()) write_text(0, graph->schema);
  if (!graph->time_unit.empty()) write_text(sections.size() - 1, graph->time_unit);
  const std::shared_ptr<ExtentStore> extents = graph->relations.front().edges->extents();
  for (size_t t = 0; t < graph->types.size(); ++t) {
    WriteNodeTimes(graph->types[t].times, type_sections[t], resources, extents.get(), &file,
                   progress);
  }
  for (size_t r = 0; r < graph->relations.size(); ++r) {
    const RelationToWrite& relation = graph->relations[r];
    relation.edges->Write(count(relation.source), count(relation.target), relation_sections[r],
                          &file);
  }
  progress->Start("making durable", 0);
  return file.Finish(std::bit_cast<store::Properties>(graph->properties), graph->flags);
}

// Makes the schema, as far as it is known before edges are read.
store::Schema PlanSchema(const GraphInput& graph) {
  store::Schema schema;
  for (const TypeInput& type : graph.types) {
    schema.types.push_back({.name = type.name, .count = type.count});
  }
  for (uint32_t r = 0; r < graph.relations.size(); ++r) {
    const RelationInput& relation = graph.relations[r];
    schema.relations.push_back({.name = relation.name,
                                .source = relation.source,
                                .target = relation.target,
                                .flags = relation.options.symmetric() ? store::kSymmetric : 0,
                                .base = r,
                                .inverse = {}});
  }
  schema.num_stored = schema.relations.size();
  for (const auto& [a, b] : graph.inverses) {
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      if (from >= schema.num_stored || schema.relations[from].inverse) {
        throw InputError("inverse relations " + Number(a) + " and " + Number(b) +
                         ": expected numbers below " + Number(schema.num_stored) +
                         ", each in one pair");
      }
      schema.relations[from].inverse = to;
    }
  }
  for (const ViewInput& view : graph.views) {
    if (view.base >= schema.num_stored) {
      throw InputError("view '" + view.name + "' of relation " + Number(view.base) +
                       ": expected a number below " + Number(schema.num_stored));
    }
    store::SchemaRelation relation = schema.relations[view.base];
    relation.name = view.name;
    std::swap(relation.source, relation.target);
    relation.inverse.reset();
    schema.relations.push_back(relation);
  }
  if (const auto fault = store::FindFault(schema)) {
    throw InputError("schema: " + fault->place + ": found " + fault->found + ", expected " +
                     fault->expected);
  }
  return schema;
}

// Adds to the schema what reading the edges revealed.
void CompleteSchema(const FileToWrite& file, store::Schema* schema) {
  for (size_t t = 0; t < file.types.size(); ++t) {
    schema->types[t].has_times = file.types[t].times.present();
    schema->types[t].times_ascend = file.types[t].times.present() && file.types[t].times.ascend;
  }
  for (store::SchemaRelation& relation : schema->relations) {
    const RelationCompiler& edges = *file.relations[relation.base].edges;
    relation.flags = edges.flags();
    relation.num_edges = edges.report().num_edges;
    relation.edge_id_bound = edges.report().input_rows;
  }
  if (const auto fault = store::FindFault(*schema)) {
    throw InputError("schema: " + fault->place + ": found " + fault->found + ", expected " +
                     fault->expected);
  }
}

NodeTimes TimesOf(const std::optional<std::span<const int64_t>>& times, uint64_t count,
                  const std::string& type) {
  if (!times) return {};
  if (times->size() != count) {
    throw InputError((type.empty() ? "node times" : "times of type " + type) + ": found " +
                     Number(times->size()) + ", expected " + Number(count) + ", one for each node");
  }
  // Not null even for a type without nodes, because null means that the type has no times.
  static constexpr int64_t kNone = 0;
  return NodeTimes::Examine(count == 0 ? &kNone : times->data(), count, type);
}

void CheckRelation(const RelationInput& relation, const std::string& title) {
  CheckWeightName(relation.options.weight_name);
  if (!relation.options.store_out() && !relation.options.store_in()) {
    throw InputError(title + ": found no direction to store, expected out, in or both");
  }
}

}  // namespace

TopologyReport CompileTopology(const OpenEdges& open, const std::string& path,
                               const TopologyOptions& options, const Resources& resources,
                               Progress* progress) {
  std::optional<uint64_t> num_nodes = options.num_nodes;
  if (options.node_times && !num_nodes) num_nodes = options.node_times->size();
  if (num_nodes.value_or(0) >= kIdLimit) {
    throw InputError("found " + Number(*num_nodes) + " nodes, expected at most 2^63 - 1");
  }
  CheckWeightName(options.weight_name);
  CheckTimeUnit(options.time_unit);
  TypeToWrite type;
  if (options.node_times) type.times = TimesOf(options.node_times, *num_nodes, "");
  const RelationEnd end{.count = num_nodes, .type = "", .times = type.times};
  std::unique_ptr<RelationCompiler> edges = ReadRelation(open, options,
                                                         {.number = 0,
                                                          .source = end,
                                                          .target = end,
                                                          .resources = &resources,
                                                          .progress = progress,
                                                          .extents = nullptr});
  TopologyReport report{edges->report()};
  report.num_nodes = type.count = num_nodes ? *num_nodes : CountNodes(*edges);
  CheckNodeCount(report.num_nodes, edges->source_name());

  FileToWrite file;
  file.time_unit = options.time_unit;
  file.flags = edges->flags();
  file.properties.num_src = file.properties.num_dst = report.num_nodes;
  file.properties.num_edges = report.num_edges;
  file.properties.edge_id_bound = report.input_rows;
  file.types.push_back(type);
  const std::shared_ptr<ExtentStore> extents = edges->extents();
  file.relations.push_back({0, 0, std::move(edges)});
  report.fingerprint = WriteFile(&file, path, resources, progress);
  report.spilled_bytes = extents->spilled_bytes();
  return report;
}

GraphReport CompileGraph(const GraphInput& graph, const std::string& path,
                         const Resources& resources, Progress* progress) {
  CheckTimeUnit(graph.time_unit);
  store::Schema schema = PlanSchema(graph);
  for (size_t r = 0; r < graph.relations.size(); ++r) {
    CheckRelation(graph.relations[r], schema.Title(r));
  }
  FileToWrite file;
  file.time_unit = graph.time_unit;
  for (const TypeInput& type : graph.types) {
    CheckNodeCount(type.count, "type " + type.name);
    file.types.push_back({type.count, TimesOf(type.times, type.count, type.name)});
  }
  // All relations share one store, so the extents that earlier relations keep in memory count
  // against the budget of later ones.
  const auto extents = std::make_shared<ExtentStore>(
      resources.memory / 2, SharedExtentBytes(resources), resources.temp_dir);
  const auto end_of = [&](uint32_t type) {
    return RelationEnd{.count = graph.types[type].count,
                       .type = graph.types[type].name,
                       .times = file.types[type].times};
  };
  GraphReport report;
  for (uint32_t r = 0; r < graph.relations.size(); ++r) {
    const RelationInput& relation = graph.relations[r];
    file.relations.push_back({relation.source, relation.target,
                              ReadRelation(relation.open, relation.options,
                                           {.number = r,
                                            .source = end_of(relation.source),
                                            .target = end_of(relation.target),
                                            .resources = &resources,
                                            .progress = progress,
                                            .extents = extents})});
    report.relations.push_back(file.relations.back().edges->report());
  }
  CompleteSchema(file, &schema);
  file.schema = store::SchemaBytes(schema);
  file.properties.num_src = file.properties.num_dst = schema.num_nodes();
  file.properties.num_edges = schema.num_edges();
  file.properties.edge_id_bound = schema.edge_id_bound();
  report.fingerprint = WriteFile(&file, path, resources, progress);
  report.spilled_bytes = extents->spilled_bytes();
  return report;
}

}  // namespace graphzero::compile
