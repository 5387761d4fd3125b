// What a disk gives: how many small reads in a second, and how many bytes in large ones.
//
// From the two follows how far apart two rows may be for one read to bring both in less time than
// two would: while a disk makes one more read, it could transfer bytes_per_second /
// reads_per_second. That is 4 KiB on a fast local disk, and 40 to 150 KiB on volumes in a cloud,
// which are paid for by the read.
#pragma once

#include <cstdint>

#include "io/random_file.h"

namespace graphzero::io {

struct DiskRates {
  double reads_per_second = 0;
  double bytes_per_second = 0;

  // The widest gap in front of an item that is worth reading across, within bounds.
  uint64_t MergeGap() const;
};

// Reads random places of the file for a few tenths of a second, around the page cache. Needs a file
// with O_DIRECT of at least kLeastMeasured bytes. Throws IoError.
inline constexpr uint64_t kLeastMeasured = uint64_t{64} << 20;
DiskRates MeasureDisk(const RandomFile& file);

}  // namespace graphzero::io
