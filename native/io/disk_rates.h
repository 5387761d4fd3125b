// What a disk delivers in a second: how many small reads, and how many bytes in large reads.
//
// The two rates decide how far apart two rows may lie for one read across the gap to be faster than
// two reads: in the time of one more read, the disk could transfer bytes_per_second /
// reads_per_second bytes. That is 4 KiB on a fast local disk, and 40 to 150 KiB on volumes in a
// cloud, which are paid for by the read.
#pragma once

#include <cstdint>

#include "io/random_file.h"

namespace graphzero::io {

struct DiskRates {
  double reads_per_second = 0;
  double bytes_per_second = 0;

  // The widest gap between two items that is worth reading across, from kLeastGap to kMostGap;
  // kDirectGap if the disk was not measured.
  uint64_t MergeGap() const;
};

// Reads random places of the file for one and a half seconds, around the page cache. Needs a file
// with O_DIRECT of at least kLeastMeasured bytes. Throws IoError.
inline constexpr uint64_t kLeastMeasured = uint64_t{64} << 20;
DiskRates MeasureDisk(const RandomFile& file);

}  // namespace graphzero::io
