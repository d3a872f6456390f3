// SPDX-License-Identifier: MIT
#include "models/amd/memory_map.h"

#include <rt_tiny/runtime/base/error.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace tiny::models::amd {
namespace {

constexpr uint64_t kFile_B = 1ull << 44;       ///< sparse
constexpr uint64_t kPoisoned_B = 16ull << 20;  ///< larger buffers would cost memory and time

}  // namespace

MemoryFile::MemoryFile() : fd_(::memfd_create("tiny_model_amd", MFD_CLOEXEC)) {
  if (fd_ < 0) throw_system_error("memfd_create", errno);
  if (::ftruncate(fd_, off_t(kFile_B)) != 0) throw_system_error("ftruncate(memfd)", errno);
}

MemoryFile::~MemoryFile() { ::close(fd_); }

bool MemoryFile::allocate(Bo& bo) {
  if (next_B_ + bo.size_B > kFile_B) return false;
  void* const host = ::mmap(nullptr, bo.size_B, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                            fd_, off_t(next_B_));
  if (host == MAP_FAILED) return false;
  bo.host = static_cast<std::byte*>(host);
  bo.file_offset_B = next_B_;
  next_B_ += bo.size_B;
  if (bo.domain == Domain::vram && bo.size_B <= kPoisoned_B)
    std::fill_n(reinterpret_cast<uint16_t*>(host), bo.size_B / 2, kPoison);
  return true;
}

void MemoryFile::free(Bo& bo) {
  ::munmap(bo.host, bo.size_B);
  // A failure only keeps memory longer.
  (void)::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(bo.file_offset_B),
                    off_t(bo.size_B));
  bo.host = nullptr;
}

bool GpuMap::add(const GpuRange& range) {
  auto next = ranges_.lower_bound(range.va);
  if (next != ranges_.end() && next->first < range.end()) return false;
  if (next != ranges_.begin() && std::prev(next)->second.end() > range.va) return false;
  ranges_.emplace_hint(next, range.va, range);
  return true;
}

bool GpuMap::remove(uint64_t va) {
  last_ = nullptr;
  return ranges_.erase(va) != 0;
}

void GpuMap::clear() {
  last_ = nullptr;
  ranges_.clear();
}

const GpuRange* GpuMap::find(uint64_t va) const {
  if (last_ && va - last_->va < last_->size_B) return last_;
  auto at = ranges_.upper_bound(va);
  if (at == ranges_.begin()) return nullptr;
  --at;
  if (va - at->first >= at->second.size_B) return nullptr;
  return last_ = &at->second;
}

std::byte* GpuMap::locate(uint64_t va, uint64_t size_B, AccessKind kind, AccessFault* fault,
                          uint64_t* bad) const {
  const auto refuse = [&](AccessFault why, uint64_t at) {
    *fault = why;
    *bad = at;
    return nullptr;
  };
  const GpuRange* range = find(va);
  if (!range) return refuse(AccessFault::not_present, va);
  if (size_B > range->end() - va) return refuse(AccessFault::not_present, range->end());
  if (kind == AccessKind::write && !range->writable) return refuse(AccessFault::read_only, va);
  if (kind == AccessKind::execute && !range->executable) return refuse(AccessFault::no_execute, va);
  *fault = AccessFault::none;
  return range->host + (va - range->va);
}

}  // namespace tiny::models::amd
