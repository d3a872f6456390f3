// SPDX-License-Identifier: MIT
#include "drivers/cpu/worker_pool.h"

#include <rt_tiny/runtime/base/error.h>

#include "drivers/cpu/threads.h"
#include "runtime/spin.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tiny::cpu {
namespace {

constexpr uint64_t kOpen = uint64_t{1} << 63;
/// Below this, sharing costs more than it gains: two threads break even at 1.7 µs of work.
constexpr uint64_t kWorthSharing_ns = 2000;
/// Idle workers burn a core this long before they sleep.
constexpr uint64_t kWorkerSpin_ns = 200'000;
/// Enough pieces that a late or slow thread does not hold up the others.
constexpr uint64_t kChunksPerThread = 8;

}  // namespace

void* WorkerPool::Scratch::get(uint64_t size_B) {
  if (size_B > size_B_) {
    size_B_ = (size_B + 4095) / 4096 * 4096;
    memory_.reset(std::aligned_alloc(64, size_B_));
    CHECK_INVARIANT(memory_, "out of memory for kernel scratch");
  }
  return memory_.get();
}

WorkerPool::WorkerPool(unsigned threads) {
  for (unsigned i = 1; i < threads; ++i)
    workers_.push_back(start_thread("tiny-worker", [this] { worker(); }));
}

WorkerPool::~WorkerPool() {
  door_.stop();
  for (std::thread& t : workers_) t.join();
}

void WorkerPool::worker() {
  FaultGuard guard;
  Scratch scratch;
  for (uint64_t seen = 0; !door_.stopped();) {
    seen = door_.wait_past(seen, kWorkerSpin_ns);
    join_batch(scratch);
  }
}

/// A worker that wakes too late finds the batch closed and nobody waits for it.
void WorkerPool::join_batch(Scratch& scratch) {
  uint64_t ticket = ticket_.load(std::memory_order_acquire);
  do {
    if (!(ticket & kOpen)) return;
  } while (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel));
  work(scratch);
  left_.fetch_add(1, std::memory_order_release);
}

/// Lays out the chunks; true if the batch is worth sharing.
bool WorkerPool::plan(const std::vector<DispatchItem>& batch) {
  chunks_.clear();
  total_chunks_ = 0;
  uint64_t cost_ns = 0, all_groups = 0;
  for (const DispatchItem& item : batch) {
    const uint64_t groups = uint64_t{item.groups[0]} * item.groups[1] * item.groups[2];
    if (groups == 0) continue;
    all_groups += groups;
    const bool unknown = item.cost_ns == 0;
    cost_ns += unknown ? (groups > 1 ? kWorthSharing_ns : 0) : item.cost_ns;
    const uint64_t wanted = std::min<uint64_t>(groups, threads() * kChunksPerThread);
    const uint64_t chunk_groups = (groups + wanted - 1) / wanted;
    const uint64_t count = (groups + chunk_groups - 1) / chunk_groups;
    chunks_.push_back({&item, total_chunks_, count, groups, chunk_groups});
    total_chunks_ += count;
  }
  return all_groups > 1 && cost_ns >= kWorthSharing_ns && !workers_.empty();
}

std::optional<KernelFault> WorkerPool::run(const std::vector<DispatchItem>& batch) {
  const bool share = plan(batch);
  if (total_chunks_ == 0) return std::nullopt;
  next_chunk_.store(0, std::memory_order_relaxed);
  if (share) {
    left_.store(0, std::memory_order_relaxed);
    ticket_.store(kOpen, std::memory_order_release);
    door_.ring(++batch_number_);
  }
  work(own_scratch_);
  if (share) close_batch();
  return std::exchange(fault_, std::nullopt);
}

void WorkerPool::close_batch() {
  const uint64_t joined = ticket_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  auto all_left = [&] { return left_.load(std::memory_order_acquire) == joined; };
  constexpr uint64_t kSpin_ns = 20'000;
  while (!spin_until(all_left, kSpin_ns)) std::this_thread::yield();
}

void WorkerPool::work(Scratch& scratch) {
  size_t at = 0;
  for (;;) {
    const uint64_t chunk = next_chunk_.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= total_chunks_) return;
    while (chunk >= chunks_[at].first_chunk + chunks_[at].chunks) ++at;
    const Chunks& c = chunks_[at];
    const uint64_t begin = (chunk - c.first_chunk) * c.chunk_groups;
    run_groups(c, begin, std::min(begin + c.chunk_groups, c.groups), scratch);
  }
}

void WorkerPool::run_groups(const Chunks& c, uint64_t begin, uint64_t end, Scratch& scratch) {
  const DispatchItem& item = *c.item;
  void* const memory = item.code->scratch_B() ? scratch.get(item.code->scratch_B()) : nullptr;
  const Entry entry = item.code->entry();
  const uint64_t nx = item.groups[0], ny = item.groups[1];
  // Volatile: read after a jump out of the kernel.
  volatile int64_t x = static_cast<int64_t>(begin % nx);
  volatile int64_t y = static_cast<int64_t>(begin / nx % ny);
  volatile int64_t z = static_cast<int64_t>(begin / nx / ny);
  FaultInfo info;
  const bool ok = run_guarded(
      [&] {
        for (uint64_t i = begin; i < end; ++i) {
          const int64_t group[3] = {x, y, z};
          entry(item.kernarg, group, memory);
          x = x + 1;
          if (static_cast<uint64_t>(x) < nx) continue;
          x = 0;
          y = y + 1;
          if (static_cast<uint64_t>(y) < ny) continue;
          y = 0;
          z = z + 1;
        }
      },
      info);
  if (ok) return;
  next_chunk_.store(total_chunks_, std::memory_order_relaxed);
  std::lock_guard lock(fault_mutex_);
  if (!fault_) fault_ = KernelFault{item.code, {x, y, z}, info};
}

}  // namespace tiny::cpu
