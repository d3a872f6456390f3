// SPDX-License-Identifier: MIT
// The AMD kernel driver and GPU for machines that have none: /dev/kfd, /dev/dri, sysfs, queues,
// shaders. Link it (tests) or preload it (libtiny_model_amd.so).
//
// It is stricter than silicon. What it does not like it *reports*: a line on stderr and an entry of
// reports(), naming ioctl, packet with queue and ring offset, or instruction. See docs in chip.h
// for what is checked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tiny::models::amd {

struct Options {
  std::string target = "gfx1100";
  unsigned gpus = 1;
  bool large_bar = true;
  std::vector<unsigned> hidden;  ///< GPUs whose gpu_id cannot be read (cgroup)
  std::vector<unsigned> without_render_node;
  bool sysfs_sizes = true;    ///< cwsr_size and ctl_stack_size in properties, as kernels >= 7.0
  bool no_atomics64 = false;  ///< the PCIe link carries no 64-bit atomics
  uint64_t vram_B = 0;        ///< 0: the profile's
  unsigned kfd_minor = 17;
  /// No thread: the chip does something only in step() and run().
  bool stepped = false;
  uint64_t seed = 1;        ///< order of queues, workgroups and waves
  uint64_t slice = 20'000;  ///< instructions between looks at the other queues
  /// The chip rests for so long after a doorbell, or until somebody waits for an event: work that
  /// is submitted together is then in flight together, and waits that are missing show.
  unsigned delay_us = 0;
  bool print = true;         ///< reports go to stderr as well
  bool print_stats = false;  ///< preloaded: what ran goes to stderr at the end
  bool strict = false;       ///< preloaded: a program with reports ends with kStrictStatus
  bool race_checks = true;   ///< missing waits, acquires and releases
  bool shaders = true;       ///< false: dispatches complete without running (host timing)
};

/// From "gfx1100,gpus=2,small-bar,seed=7": the target, then options in any order. Throws
/// UsageError. Names: gpus=N, hidden=N, no-render=N (one GPU each), small-bar, no-sysfs-sizes,
/// no-atomics64, vram=MiB, seed=N, delay=us, no-races, no-shaders, quiet, stats, strict.
Options parse_options(const std::string& text);
/// Where the preload library finds that text.
inline constexpr const char* kOptionsVariable = "RT_TINY_MODEL_AMD";
inline constexpr int kStrictStatus = 86;

struct Report {
  enum class Kind : uint8_t {
    ioctl,     ///< refused by the kernel
    packet,    ///< malformed, unknown, misaligned
    doorbell,  ///< rung with a value that cannot be
    fault,     ///< address not mapped for this
    shader,    ///< illegal instruction, hazard, uninitialised value
    wait,      ///< two commands touch the same memory and nothing orders them
    acquire,   ///< a cache may hold old data
    release,   ///< data is read that was not written back
  };
  Kind kind;
  std::string text;
};
const char* kind_name(Report::Kind kind);

struct Stats {
  uint64_t ioctls = 0, doorbells = 0, pm4_packets = 0, sdma_packets = 0, aql_packets = 0;
  uint64_t dispatches = 0, waves = 0, instructions = 0, interrupts = 0;
};

/// A packet that a PM4 or SDMA queue has fetched and not looked at yet.
struct PacketSite {
  bool sdma = false;
  bool indirect = false;  ///< not from the ring itself
  uint32_t queue_id = 0;
};
/// May change the words in place: what the driver "wrote" is then something else. A packet keeps
/// its size: PM4 is cut by the header in memory, SDMA by the first word as it was.
using Tamper = std::function<void(const PacketSite&, std::span<uint32_t> packet)>;

struct Kernel;

/// One machine. Serves its paths while it lives; one at a time in a process.
class Model {
 public:
  explicit Model(Options options);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// Does one small thing (a packet, a slice of a wave). False: nothing to do. Only if stepped.
  bool step();
  /// Steps until nothing is left to do; false after `limit` steps. A queue that waits is idle.
  bool run(uint64_t limit = 10'000'000);

  /// Ioctl `nr` of /dev/kfd ('K') or a render node ('d') fails with errno `error` at its nth call
  /// from now (1 = the next), or always (0), without having an effect.
  void fail_ioctl(char type, unsigned nr, unsigned nth, int error);
  void clear_failures();
  /// The next dispatch never ends.
  void hang_next_dispatch(unsigned gpu = 0);
  /// Packet processors of this GPU stop, as if it were very busy.
  void pause(unsigned gpu, bool paused);
  /// The machine does nothing more: for the end of a process, before what it is made of goes away.
  void halt();
  /// The kernel resets the GPU: its queues die, HW_EXCEPTION events are signalled.
  void reset_gpu(unsigned gpu, bool memory_lost);
  /// The next dispatch faults at this address instead of running.
  void fault_next_dispatch(unsigned gpu, uint64_t address);

  /// Called once with each packet, under the machine's lock. Null ends it.
  void tamper(Tamper hook);

  std::vector<Report> reports() const;
  void clear_reports();
  Stats stats() const;
  const Options& options() const;
  uint32_t gpu_id(unsigned gpu) const;

 private:
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace tiny::models::amd
