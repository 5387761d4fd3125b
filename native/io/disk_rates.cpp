#include "io/disk_rates.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/hash.h"
#include "io/call_job.h"
#include "io/read_result.h"
#include "io/sweep.h"

namespace graphzero::io {
namespace {

constexpr uint64_t kSmall = 4096;
constexpr uint64_t kLarge = uint64_t{256} << 10;
constexpr uint32_t kSmallDepth = 128;
constexpr uint32_t kLargeDepth = 16;
// A quota lets a burst through before it limits a disk: the kernel's own gives out reads for a
// tenth of a second in advance. So the first reads are not counted.
constexpr uint64_t kBurstNanoseconds = 200'000'000;
constexpr uint64_t kCountedNanoseconds = 200'000'000;
constexpr int kRounds = 2;

// Reads of one size at random places, until the time is up.
class ProbeJob : public CallJob {
 public:
  ProbeJob(uint64_t file_bytes, uint64_t bytes, uint32_t depth, uint64_t seed)
      : places_(file_bytes / bytes),
        bytes_(bytes),
        number_(seed),
        memory_(BounceMemory(depth * bytes)),
        counted_from_(NowNanoseconds() + kBurstNanoseconds),
        until_(counted_from_ + kCountedNanoseconds) {}

  double reads_per_second() const { return static_cast<double>(counted_) * kPerSecond; }

 private:
  bool Prepare(uint32_t slot, Read* read) noexcept override {
    if (NowNanoseconds() >= until_) return false;
    read->offset = base::Mix64(number_++) % places_ * bytes_;
    read->to = memory_ + slot * bytes_;
    read->bytes = static_cast<uint32_t>(bytes_);
    read->least = read->bytes;
    return true;
  }
  void Deliver(uint32_t) noexcept override {
    const uint64_t now = NowNanoseconds();
    if (now >= counted_from_ && now < until_) ++counted_;
  }

  static constexpr double kPerSecond = 1e9 / double{kCountedNanoseconds};

  const uint64_t places_;
  const uint64_t bytes_;
  uint64_t number_;
  std::byte* const memory_;
  const uint64_t counted_from_;
  const uint64_t until_;
  uint64_t counted_ = 0;
};

double ReadsPerSecond(const RandomFile& file, uint64_t bytes, uint32_t depth, uint64_t seed) {
  IoCounters uncounted;
  ProbeJob job(file.file().size(), bytes, depth, seed);
  job.Run(file, depth, uncounted);
  return job.reads_per_second();
}

}  // namespace

uint64_t DiskRates::MergeGap() const {
  if (reads_per_second <= 0 || bytes_per_second <= 0) return kDirectGap;
  const double gap =
      std::clamp(bytes_per_second / reads_per_second, double{kLeastGap}, double{kMostGap});
  return static_cast<uint64_t>(gap) / kLeastGap * kLeastGap;
}

DiskRates MeasureDisk(const RandomFile& file) {
  DiskRates best;
  uint64_t seed = base::Mix64(NowNanoseconds());  // other places than the last time
  // Takes the round with the narrowest gap. Requests that are served meanwhile use up small reads,
  // which makes the disk look as if it gave few of them.
  for (int round = 0; round < kRounds; ++round) {
    const double small = ReadsPerSecond(file, kSmall, kSmallDepth, seed++);
    const double large = ReadsPerSecond(file, kLarge, kLargeDepth, seed++);
    const DiskRates found{.reads_per_second = small, .bytes_per_second = large * double{kLarge}};
    if (round == 0 || found.MergeGap() < best.MergeGap()) best = found;
  }
  return best;
}

}  // namespace graphzero::io
