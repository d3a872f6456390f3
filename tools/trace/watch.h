// SPDX-License-Identifier: MIT
// Watchers follow the calls of one process on one vendor's devices. They know where its rings and
// buffers are, and what to keep of them when it submits. The recorder runs them beside the program,
// the printer again over the recorded calls, for the names of the buffers.
#pragma once

#include "tools/decode/decode.h"
#include "tools/trace/format.h"
#include "tools/trace/names.h"
#include "tools/trace/process_memory.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tiny::trace {

struct Snapshot {
  Contents contents = Contents::raw;
  std::uint64_t address = 0;  ///< as the device knows it
  std::uint64_t wanted_B = 0;
  std::uint64_t generation = 0, queue = 0;
  std::vector<std::byte> bytes;  ///< what could be read, from `address` on
};
using Snapshots = std::vector<Snapshot>;

struct DeviceCall {
  std::string_view path;
  int fd = -1;
  decode::IoctlCall call;  ///< `after` is empty before the call was made
};
struct DeviceMap {
  std::string_view path;
  int fd = -1;
  std::uint64_t address = 0, size_B = 0, offset_B = 0;
};
struct Doorbell {
  std::uint64_t address = 0, size_B = 0, value = 0;
};

class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual std::unique_ptr<Watcher> clone() const = 0;  ///< for the child of a fork
  /// A call is about to be made. Qualcomm submits by ioctl: the command buffers are kept now.
  virtual void before(const DeviceCall& call, const Memory& memory, Snapshots& out);
  /// A call was made; its result is in it.
  virtual void after(const DeviceCall& call, NameSink& names);
  /// True where the mapping holds doorbells.
  virtual bool mapped(const DeviceMap& map, NameSink& names);
  virtual void unmapped(std::uint64_t address, std::uint64_t size_B, NameSink& names);
  /// A doorbell was rung, or may have been (`bell` null): keeps what was submitted since last time.
  virtual void rung(const Doorbell* bell, const Memory& memory, Snapshots& out);
};

std::unique_ptr<Watcher> make_amd_watcher();
std::unique_ptr<Watcher> make_nv_watcher();
std::unique_ptr<Watcher> make_qcom_watcher();

/// gfx_target_version of a KFD gpu_id, from the topology in sysfs; 0 where unknown.
std::uint64_t gfx_target_version(std::uint32_t gpu_id);

/// All of them, with one state: what a process needs.
class Watchers {
 public:
  Watchers();
  Watchers(const Watchers& other);
  Watchers& operator=(const Watchers&) = delete;
  void before(const DeviceCall& call, const Memory& memory, Snapshots& out);
  void after(const DeviceCall& call, NameSink& names);
  bool mapped(const DeviceMap& map, NameSink& names);
  void unmapped(std::uint64_t address, std::uint64_t size_B, NameSink& names);
  void rung(const Doorbell* bell, const Memory& memory, Snapshots& out);

 private:
  Watcher* of(std::string_view path);
  std::unique_ptr<Watcher> amd_, nv_, qcom_;
};

/// Little-endian value at an offset of a structure; 0 where the bytes end before.
template <class T>
T field(decode::Bytes bytes, std::size_t offset_B) {
  T value{};
  if (offset_B + sizeof value <= bytes.size())
    __builtin_memcpy(&value, bytes.data() + offset_B, sizeof value);
  return value;
}

/// Little-endian dwords; a rest of under four bytes is left out.
std::vector<std::uint32_t> words_of(decode::Bytes bytes);

/// Which driver serves a DRM node, told by what is asked of it: amdgpu's and msm's numbers overlap.
class DrmDrivers {
 public:
  void see(const DeviceCall& call);
  bool is_msm(std::string_view path) const { return msm_.count(std::string(path)) != 0; }

 private:
  std::set<std::string> msm_;
};

/// A snapshot of [address, address + size_B), read at `cpu_address`. Nothing where nothing can be
/// read.
void keep(Snapshots& out, const Memory& memory, Snapshot what, std::uint64_t cpu_address);

}  // namespace tiny::trace
