// The daemon's shared memory: one limit, divided among sessions.
//
// The promise. A session is guaranteed room for `window` regions that each hold its largest recent
// batch: as many of them as fit into half of the limit and into memory that others were not
// promised, but at least two. If not even two fit into that memory, the session is refused, with
// the numbers. Recent batches are the last 128 to 256 results, results of the last minutes (Trim's
// `forget` to twice that), and blocks that are still held; so the promise shrinks again after one
// huge batch. It never falls below what the session opened with. Promises never add up to more than
// the limit.
//
// The loan. Half of the memory that nobody was promised is lent: beyond its promise, each session
// may use an equal part of that half, as far as others have not taken it before. The other half
// stays free for sessions that open or whose batches grow. Blocks in lent memory stay the trainer's
// until it releases them; when promises need that memory, it is not lent again.
//
// Reclaiming. A session that has used up its own share waits for its own releases: memory of others
// would not help it. Only when its share allows a block and the total does not, free memory of
// other sessions is given back to the system: only from sessions that have more than their promise,
// only what they have beyond it, only as many bytes as are missing, and the ranges that have been
// free for longest first. An attempt that cannot succeed changes nothing.
//
// Waiting. An attempt that fails is remembered with its size. When it could succeed (because of a
// release, a session's end, a promise that shrank), the session's number appears in TakeReady() and
// ready_descriptor() becomes readable; sessions that could not use what came free are not called.
//
// Blocks lie in regions, which belong to one session and are never given to another. A region has
// room for several blocks, which are freed in any order. Fresh pages are slow to fill (267 ms for
// 172 MiB against 16 to 41 ms for warm ones, measured), so regions are kept and refilled.
//
// Descriptors. Each region needs one. All regions together may have half of the descriptors that
// the process may open. The share of a session is eight regions, or an equal part of half of that
// number if that is more.
//
// The end of a session does not end the trainer's tensors, so their memory counts as promised until
// the trainer has unmapped it. Otherwise a trainer that opens a session, takes all it can get,
// leaves and comes again would make the daemon exceed its limit without end.
//
// Locks. One mutex guards all accounts; the event loop, workers and threads with the interpreter's
// lock wait for it, so it is held for microseconds and never during a system call. Memory that is
// being created, punched (given back to the system) or refilled is neither free nor held meanwhile,
// but it is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "shm/reaper.h"
#include "shm/session_memory.h"

namespace graphzero::shm {

// Counts since the start.
struct MemoryCounters {
  uint64_t failed_attempts = 0;  // to get a block, after which the request waits
  uint64_t regions_made = 0;
  uint64_t regions_dropped = 0;  // by open sessions, to make a new region in their place
  uint64_t reclaims = 0;  // free ranges that were given back because another session needed them
  uint64_t reclaimed_bytes = 0;
};

// Thread-safe.
class MemoryBudget {
 public:
  // Regions are named "/NAME-RANDOM", or "/NAME-private/RANDOM" if members of `group` may map them.
  // `name_prefix` identifies this daemon's regions for sweeping.
  MemoryBudget(uint64_t limit, std::string name_prefix, std::optional<uint32_t> group);
  ~MemoryBudget();

  // Opens a session that is promised room for `window` small batches. Throws InputError with the
  // numbers when not even two fit.
  std::shared_ptr<SessionMemory> OpenSession(uint32_t window);

  // Counts `bytes` that the daemon holds outside of regions, for results that travel in messages,
  // against the same limit. Returns false and changes nothing if that is more than before and
  // exceeds the limit: the descriptor becomes readable when it would fit.
  bool SetOutside(uint64_t bytes);

  // Whether no session can be opened now, but one could be soon: once results in messages have been
  // read, and trainers of ended sessions (killed ones, for instance) have unmapped their memory.
  bool room_may_come() const;

  // Numbers of sessions whose last failed attempt could succeed now, each once: they should try
  // again. The descriptor is readable while there may be some.
  std::vector<uint64_t> TakeReady();
  int ready_descriptor() const { return ready_event_.get(); }

  // Gives the memory of ranges that were free for `idle` back to the system, and lets promises
  // forget the sizes of batches that are older than `forget`.
  void Trim(Clock::duration idle, Clock::duration forget);

  uint64_t limit() const { return limit_; }
  // Memory behind all regions, also of sessions that have ended but whose trainer still maps it.
  uint64_t used() const;
  // Bytes that sessions are guaranteed, plus bytes that count as promised: results in messages, and
  // memory that trainers of ended sessions still map.
  uint64_t promised() const;
  MemoryCounters counters() const;

 private:
  friend class SessionMemory;

  struct Account {
    SessionMemory* session;  // null once it has ended
    uint64_t resident;       // bytes with memory behind them, or about to have some
    uint64_t promise;
    size_t regions_left;  // of an ended session: regions that the reaper has not taken apart
    uint64_t committed() const { return resident > promise ? resident : promise; }
  };
  // Holds the mutex. Makes the descriptor readable, if necessary, after it has released the mutex.
  class Lock {
   public:
    explicit Lock(MemoryBudget* budget) : budget_(budget), lock_(budget->mutex_) {}
    ~Lock();

   private:
    MemoryBudget* budget_;
    std::unique_lock<std::mutex> lock_;
  };

  // All of these need the mutex.
  void Update(Account* account, uint64_t resident, uint64_t promise);
  void SubtractResident(uint64_t session, uint64_t bytes);  // the account may be gone
  void Erase(uint64_t session);
  // Bytes that a session may use beyond its promise.
  uint64_t Lendable(const Account& account) const;
  // Bytes that were not promised to any other account.
  uint64_t LeftFor(const Account& account) const;
  // Bytes that count as promised but belong to no open session: results in messages, and memory
  // that the trainers of ended sessions still map.
  uint64_t HeldForAWhile() const;
  // Bytes that could be reclaimed from sessions other than `without`; TakeReclaimed() takes ranges
  // with `bytes` of them in all.
  uint64_t Reclaimable(const SessionMemory* without) const;
  std::vector<IdleRange> TakeReclaimed(const SessionMemory* without, uint64_t bytes);
  // Takes ranges with `bytes` in all, those free for longest first, and at most most[session] bytes
  // of each session. The caller punches them: until Settle() they are neither free nor held, but
  // counted.
  std::vector<IdleRange> TakeOldest(std::vector<IdleRange> candidates, uint64_t bytes,
                                    std::map<uint64_t, uint64_t>* most);
  // The range that has been free for longest, if it became free before `before`.
  std::vector<IdleRange> TakeIdle(Clock::time_point before);
  void Settle(const IdleRange& range, bool done);
  // Whether descriptors allow another region to a session that will keep `kept` of its `regions`.
  bool MayAddRegion(size_t kept, size_t regions, bool* for_total) const;
  void Wait(uint64_t session, WaitingAttempt attempt);
  void WakeIfReady(const SessionMemory* session);
  void WakeWaiting(bool only_for_total);

  // These must be called without the mutex.
  bool PunchAll(const std::vector<IdleRange>& ranges);  // false if the system refused one
  void OnFreed(uint64_t session, uint64_t bytes, bool gone);
  std::string NewName() const;

  const uint64_t limit_;
  const std::string name_prefix_;
  const std::optional<uint32_t> group_;          // whose members may map regions
  const std::unique_ptr<PrivateFolder> folder_;  // of the regions, if there is a group
  const base::Fd ready_event_;
  const size_t most_regions_;

  mutable std::mutex mutex_;  // guards everything below
  std::map<uint64_t, Account> accounts_;
  uint64_t next_session_ = 1;
  size_t open_sessions_ = 0;
  uint64_t outside_ = 0;
  uint64_t resident_ = 0;  // this and the next two are sums over accounts_, plus outside_
  uint64_t committed_ = 0;
  uint64_t promised_ = 0;
  // The part of resident_ that is being punched to make room for memory that is reserved, and so
  // counted in resident_, already.
  uint64_t to_be_punched_ = 0;
  std::map<uint64_t, WaitingAttempt> waiting_;  // by session
  // The smallest increase that SetOutside() has refused since the descriptor last announced room;
  // 0 if there is none.
  uint64_t outside_wanted_ = 0;
  std::vector<uint64_t> ready_;
  bool tell_ready_ = false;
  MemoryCounters counters_;

  const std::shared_ptr<Reaper> reaper_;  // the last member: its thread uses the others
};

}  // namespace graphzero::shm
