// The part of the kernel's io_uring interface that uring_queue.cpp uses, as the kernel defines it
// (it never changes). Copied, because the headers that wheels are built against may be older than
// the kernel that they run on.
#pragma once

#include <cstdint>

namespace graphzero::io::abi {

inline constexpr long kSysSetup = 425;  // the same on every architecture that has them
inline constexpr long kSysEnter = 426;

inline constexpr uint8_t kOpRead = 22;

inline constexpr uint32_t kSetupClamp = 1u << 4;
inline constexpr uint32_t kSetupSingleIssuer = 1u << 12;
inline constexpr uint32_t kSetupDeferTaskrun = 1u << 13;

inline constexpr uint32_t kEnterGetEvents = 1u << 0;

inline constexpr uint32_t kFeatSingleMmap = 1u << 0;
inline constexpr uint32_t kFeatNoDrop = 1u << 1;

inline constexpr uint64_t kOffsetSqRing = 0;
inline constexpr uint64_t kOffsetSqes = 0x10000000;

struct SubmissionOffsets {
  uint32_t head, tail, ring_mask, ring_entries, flags, dropped, array, reserved;
  uint64_t user_address;
};
struct CompletionOffsets {
  uint32_t head, tail, ring_mask, ring_entries, overflow, cqes, flags, reserved;
  uint64_t user_address;
};
struct Params {
  uint32_t sq_entries, cq_entries, flags, sq_thread_cpu, sq_thread_idle, features, wq_fd;
  uint32_t reserved[3];
  SubmissionOffsets sq;
  CompletionOffsets cq;
};
static_assert(sizeof(Params) == 120);

struct Submission {
  uint8_t opcode;
  uint8_t flags;
  uint16_t priority;
  int32_t fd;
  uint64_t offset;
  uint64_t address;
  uint32_t length;
  uint32_t rw_flags;
  uint64_t user_data;
  uint64_t unused[3];
};
static_assert(sizeof(Submission) == 64);

struct Completion {
  uint64_t user_data;
  int32_t result;
  uint32_t flags;
};
static_assert(sizeof(Completion) == 16);

}  // namespace graphzero::io::abi
