#include <nanobind/stl/chrono.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "base/bytes.h"
#include "bindings/arrays.h"
#include "bindings/bindings.h"
#include "bindings/gil.h"
#include "shm/budget.h"
#include "shm/lease.h"
#include "shm/region.h"
#include "shm/session_memory.h"
#include "store/container/dtype.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace graphzero::bindings {
namespace {

// The most dimensions that every version of NumPy supports.
constexpr size_t kMostDimensions = 32;

// An array at `offset` of `bytes` that keeps `owner` alive. Everything is checked: on the client
// the numbers come from another process.
AnyArray ArrayIn(std::span<std::byte> bytes, uint64_t offset, const std::vector<uint64_t>& shape,
                 const std::string& dtype_name, const nb::capsule& owner) {
  const std::optional<store::DType> dtype = store::DTypeFromName(dtype_name);
  if (!dtype) throw std::invalid_argument("unknown dtype '" + dtype_name + "'");
  const uint64_t item = store::ItemSize(*dtype);
  if (shape.size() > kMostDimensions) {
    throw std::out_of_range("found an array of " + std::to_string(shape.size()) +
                            " dimensions, expected at most " + std::to_string(kMostDimensions));
  }
  const std::optional<uint64_t> count = base::ItemCount(shape, item);
  if (!count || offset % item != 0 || !base::Fits(offset, *count, item, bytes.size())) {
    throw std::out_of_range("an array at byte " + std::to_string(offset) +
                            " does not fit into its block of " + std::to_string(bytes.size()) +
                            " bytes");
  }
  const std::vector<size_t> extents(shape.begin(), shape.end());
  return AnyArray(bytes.data() + offset, extents.size(), extents.data(), owner, nullptr,
                  NumpyType(*dtype));
}

AnyArray ArrayInBlock(const shm::Block& block, uint64_t offset, const std::vector<uint64_t>& shape,
                      const std::string& dtype) {
  return ArrayIn({block.data(), block.size}, offset, shape, dtype, KeepAlive(block.region));
}

AnyArray ArrayInLease(const std::shared_ptr<shm::BlockLease>& lease, uint64_t offset,
                      const std::vector<uint64_t>& shape, const std::string& dtype) {
  return ArrayIn(lease->bytes(), offset, shape, dtype, KeepAlive(lease));
}

void BindDaemonSide(nb::module_& m) {
  nb::class_<shm::Block>(m, "SharedBlock")
      .def_ro("id", &shm::Block::id)
      .def_ro("region_id", &shm::Block::region_id)
      .def_ro("offset", &shm::Block::offset)
      .def_ro("size", &shm::Block::size)
      .def("array", &ArrayInBlock, "offset"_a, "shape"_a, "dtype"_a)
      // Keeps the GIL: asks the system for one file's size, which is faster than handing it over.
      .def("damage", [](const shm::Block& block) { return block.region->Damage(); });

  nb::class_<shm::RegionOffer>(m, "RegionOffer")
      .def_ro("region_id", &shm::RegionOffer::region_id)
      .def_ro("name", &shm::RegionOffer::name)
      .def_ro("size", &shm::RegionOffer::size);

  nb::class_<shm::RegionNews>(m, "RegionNews")
      .def_ro("offers", &shm::RegionNews::offers)
      .def_ro("drops", &shm::RegionNews::drops);

  nb::class_<shm::SessionUsage>(m, "SessionUsage")
      .def_ro("regions", &shm::SessionUsage::regions)
      .def_ro("region_bytes", &shm::SessionUsage::region_bytes)
      .def_ro("blocks", &shm::SessionUsage::blocks)
      .def_ro("block_bytes", &shm::SessionUsage::block_bytes)
      .def_ro("oldest_block_ms", &shm::SessionUsage::oldest_block_ms)
      .def_ro("guarantee_bytes", &shm::SessionUsage::guarantee_bytes)
      .def_ro("held_by_age", &shm::SessionUsage::held_by_age);

  nb::class_<shm::MemoryCounters>(m, "MemoryCounters")
      .def_ro("failed_attempts", &shm::MemoryCounters::failed_attempts)
      .def_ro("regions_made", &shm::MemoryCounters::regions_made)
      .def_ro("regions_dropped", &shm::MemoryCounters::regions_dropped)
      .def_ro("reclaims", &shm::MemoryCounters::reclaims)
      .def_ro("reclaimed_bytes", &shm::MemoryCounters::reclaimed_bytes);

  using Unlocked = nb::call_guard<GilRelease>;
  nb::class_<shm::SessionMemory>(m, "SessionMemory")
      .def_prop_ro("number", &shm::SessionMemory::number)
      .def("try_allocate", &shm::SessionMemory::TryAllocate, "size"_a, Unlocked())
      // Keeps the GIL: the event loop calls this before each brief request.
      .def("has_warm", &shm::SessionMemory::HasWarm, "size"_a)
      .def("has_promised", &shm::SessionMemory::HasPromised, "size"_a, "more"_a)
      .def("may_hold", &shm::SessionMemory::MayHold, "blocks"_a)
      .def("release", &shm::SessionMemory::Release, "block_ids"_a, Unlocked())
      .def("take_news", &shm::SessionMemory::TakeNews, Unlocked())
      .def("mapped", &shm::SessionMemory::Mapped, "region_id"_a, Unlocked())
      .def("usage", &shm::SessionMemory::Usage, Unlocked())
      .def("close", &shm::SessionMemory::Close, Unlocked());

  nb::class_<shm::MemoryBudget>(m, "MemoryBudget")
      .def(nb::init<uint64_t, std::string, std::optional<uint32_t>>(), "limit"_a, "name_prefix"_a,
           nb::kw_only(), "group"_a.none() = nb::none())
      .def("set_outside", &shm::MemoryBudget::SetOutside, "byte_size"_a, Unlocked())
      .def("open_session", &shm::MemoryBudget::OpenSession, "window"_a, nb::keep_alive<0, 1>(),
           Unlocked())
      .def_prop_ro("room_may_come", &shm::MemoryBudget::room_may_come, Unlocked())
      .def("take_ready", &shm::MemoryBudget::TakeReady, Unlocked())
      .def_prop_ro("ready_descriptor", &shm::MemoryBudget::ready_descriptor)
      .def("trim", &shm::MemoryBudget::Trim, nb::kw_only(), "idle"_a, "forget"_a, Unlocked())
      .def("counters", &shm::MemoryBudget::counters, Unlocked())
      .def_prop_ro("limit", &shm::MemoryBudget::limit)
      .def_prop_ro("used", &shm::MemoryBudget::used, Unlocked())
      .def_prop_ro("promised", &shm::MemoryBudget::promised, Unlocked());
}

void BindTrainerSide(nb::module_& m) {
  nb::class_<shm::RegionView>(m, "RegionView")
      .def_static("open", &shm::RegionView::Open, "name"_a, "size"_a, nb::call_guard<GilRelease>())
      // For CUDA, which pins the memory that the region is mapped to.
      .def_prop_ro("address",
                   [](const shm::RegionView& view) {
                     return reinterpret_cast<uintptr_t>(view.bytes().data());
                   })
      .def_prop_ro("size", [](const shm::RegionView& view) { return view.bytes().size(); });

  nb::class_<shm::ReleaseQueue>(m, "ReleaseQueue")
      .def("__init__", [](shm::ReleaseQueue* self) { new (self) shm::ReleaseQueue(); })
      // Keeps the GIL: handing it to another thread would cost more than the call.
      .def("take", &shm::ReleaseQueue::Take)
      .def(
          "take_left_over",
          [](shm::ReleaseQueue& queue, double timeout_s, double linger_s) {
            using Duration = shm::ReleaseQueue::Duration;
            return queue.TakeLeftOver(Duration(timeout_s), Duration(linger_s));
          },
          "timeout"_a, "linger"_a, nb::call_guard<GilRelease>())
      .def("close", &shm::ReleaseQueue::Close);

  nb::class_<shm::BlockLease>(m, "BlockLease")
      .def_static(
          "make",
          [](std::shared_ptr<shm::RegionView> region, std::shared_ptr<shm::ReleaseQueue> queue,
             uint64_t block_id, uint64_t offset, uint64_t size) {
            return std::make_shared<shm::BlockLease>(std::move(region), std::move(queue), block_id,
                                                     offset, size);
          },
          "region"_a, "queue"_a, nb::kw_only(), "block_id"_a, "offset"_a, "size"_a)
      .def("array", &ArrayInLease, "offset"_a, "shape"_a, "dtype"_a);
}

}  // namespace

void BindShm(nb::module_& m) {
  BindDaemonSide(m);
  BindTrainerSide(m);
}

}  // namespace graphzero::bindings
