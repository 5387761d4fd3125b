#include "sample/pick/labor_window.h"

#include <algorithm>
#include <limits>

namespace graphzero::sample {
namespace {

// A window has this many slots for each edge to be drawn, but not fewer than kLeastSlots in all, of
// which targets would agree on too few neighbours, and not more than kMostSlots.
constexpr uint64_t kSlotsForEdge = 16;
constexpr uint64_t kLeastSlots = 256;
// Windows of samples by weight always have this size: if a window misses the few large weights of a
// row, the others get large scales, and the smaller the window is, the more often that happens.
constexpr uint64_t kMostSlots = 4096;

uint64_t PieceSize(const Fanout& fanout, bool weighted) {
  if (fanout.edges == Fanout::kAll) return std::numeric_limits<uint64_t>::max();
  const auto edges = static_cast<uint64_t>(fanout.edges);
  const uint64_t slots =
      weighted ? kMostSlots : std::clamp(kSlotsForEdge * edges, kLeastSlots, kMostSlots);
  return (std::max(slots, edges + 1) + kLaborPieces - 1) / kLaborPieces;
}

}  // namespace

LaborWindows::LaborWindows(const LaborRequest& request, uint64_t relation, uint64_t expanded_type,
                           uint64_t hop, const Fanout& fanout, bool weighted)
    : LaborWindows(LaborPeriods(request, expanded_type),
                   RequestDraws(request.run_seed, Domain::kLaborWindows, relation)
                       .Child(request.HopWord(hop)),
                   fanout, weighted) {}

LaborWindows::LaborWindows(const LaborPeriods& periods, Draws of_hop, const Fanout& fanout,
                           bool weighted)
    : piece_size_(PieceSize(fanout, weighted)),
      periods_(periods),
      first_place_(of_hop.Child(periods.first()).Next()),
      later_place_(of_hop.Child(periods.first() + 1).Next()) {}

LaborPieces LaborWindows::Of(uint64_t node, uint64_t slots) const {
  const uint64_t place = periods_.IsLater(node) ? later_place_ : first_place_;
  const auto start = static_cast<uint64_t>((static_cast<unsigned __int128>(place) * slots) >> 64);
  // Piece j begins at start + floor(j * slots / kLaborPieces), counted on from the last position to
  // the first. Pieces do not overlap: their begins are at least slots / kLaborPieces apart, which
  // is no less than the size of a piece, or else the row would be looked at as a whole.
  std::array<uint64_t, kLaborPieces> begins;
  for (uint64_t j = 0; j < kLaborPieces; ++j) {
    const auto further =
        static_cast<uint64_t>(static_cast<unsigned __int128>(j) * slots / kLaborPieces);
    const uint64_t begin = start + further;
    begins[j] = begin < slots ? begin : begin - slots;
  }
  std::rotate(begins.begin(), std::min_element(begins.begin(), begins.end()), begins.end());
  LaborPieces found;
  const uint64_t end = begins.back() + piece_size_;
  if (end > slots) found.Add(0, end - slots);
  for (const uint64_t begin : begins) found.Add(begin, std::min(begin + piece_size_, slots));
  return found;
}

}  // namespace graphzero::sample
