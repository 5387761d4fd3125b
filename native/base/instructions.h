// Some loops are compiled several times, for processors with different vector instructions. This
// says which version to run. All versions give the same bytes.
#pragma once

namespace graphzero::base {

// Each has all instructions of those before it.
enum class Instructions { kBaseline, kAvx2 };

// The best that this processor has, or kBaseline if the variable GRAPHZERO_INSTRUCTIONS is
// "baseline", which is how tests run the versions for older processors. Holds no state, so that
// constants of any file can be initialised with it; therefore it ignores other values of the
// variable, which CheckInstructions() refuses.
Instructions BestInstructions() noexcept;

// "baseline" or "avx2".
const char* NameOf(Instructions instructions);

// Throws std::invalid_argument for a value of the variable that means nothing.
void CheckInstructions();

}  // namespace graphzero::base
