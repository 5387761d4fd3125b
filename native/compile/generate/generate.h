// Writes a synthetic dataset (see synthetic_model.h) into a directory, in bounded memory.
#pragma once

#include <string>

#include "compile/generate/synthetic_model.h"
#include "compile/job.h"
#include "store/container/dtype.h"

namespace graphzero::compile {

// Creates graph.gl (symmetric: both directions of every edge), x.gd (features of `feature_type`:
// float32, float16 or bfloat16), y.gd (labels, int64) and the ascending id lists train.gd, valid.gd
// and test.gd (int64). None of them may exist. The bytes depend on the specification and the type
// only. Throws std::invalid_argument, IoError, Cancelled; partial files may be left then.
void GenerateDataset(const std::string& directory, const SyntheticSpec& spec,
                     store::DType feature_type, const Resources& resources, Progress* progress);

}  // namespace graphzero::compile
