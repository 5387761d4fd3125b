#include "compile/edges/edge_renumbering.h"

namespace graphzero::compile {

bool RenumberedEdgeSource::Next(EdgeBatch* batch) {
  if (!edges_->Next(batch)) return false;
  // The new numbers are scattered over large arrays, so those of the whole batch are prefetched
  // first.
  for (size_t i = 0; i < batch->size; ++i) {
    __builtin_prefetch(&numbers_.sources[batch->src[i]]);
    __builtin_prefetch(&numbers_.targets[batch->dst[i]]);
  }
  for (size_t i = 0; i < batch->size; ++i) {
    batch->src[i] = numbers_.sources[batch->src[i]];
    batch->dst[i] = numbers_.targets[batch->dst[i]];
  }
  return true;
}

}  // namespace graphzero::compile
