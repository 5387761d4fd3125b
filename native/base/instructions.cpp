#include "base/instructions.h"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace graphzero::base {
namespace {

constexpr const char* kVariable = "GRAPHZERO_INSTRUCTIONS";

std::string_view Told() {
  const char* const told = std::getenv(kVariable);
  return told == nullptr ? "" : told;
}

Instructions OfProcessor() {
#if defined(__x86_64__)
  __builtin_cpu_init();  // this may run before the compiler's own initialisation
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")) {
    return Instructions::kAvx2;
  }
#endif
  return Instructions::kBaseline;
}

}  // namespace

Instructions BestInstructions() noexcept {
  return Told() == "baseline" ? Instructions::kBaseline : OfProcessor();
}

const char* NameOf(Instructions instructions) {
  return instructions == Instructions::kAvx2 ? "avx2" : "baseline";
}

void CheckInstructions() {
  const std::string_view told = Told();
  if (told == "" || told == "baseline") return;
  throw std::invalid_argument(std::string(kVariable) + " is " + std::string(told) +
                              ", expected baseline, or nothing for the best of this processor");
}

}  // namespace graphzero::base
