// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/memory.h>

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/device.h>

#include "runtime/device_impl.h"
#include "runtime/process.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tiny {
namespace {

enum class Access { read, write };

/// Waits for the submitted work a host access must come after.
void wait_for_uses(const Allocation& allocation, Access access) {
  Backend& backend = *allocation.device()->impl().backend;
  const auto& uses = allocation.uses();
  const auto& values = access == Access::read ? uses.write : uses.any;
  for (size_t q = 0; q < backend.queue_count(); ++q)
    if (const uint64_t value = values[q].load(std::memory_order_acquire))
      backend.timeline(q)->wait(value);
}

Device::Impl& checked_impl(const Allocation* allocation, std::string_view op) {
  if (!allocation) throw UsageError(fmt::format("[{}] the buffer is empty", op));
  Device::Impl& impl = allocation->device()->impl();
  check_process(impl.process, op, impl.name);
  return impl;
}

/// Foreign memory goes back to its owner at once, so nothing may still run on it.
void wait_foreign(Device::Impl& impl, const MemoryPool::Values& last_use) noexcept {
  for (size_t q = 0; q < impl.backend->queue_count(); ++q) try {
      impl.backend->timeline(q)->wait(last_use[q]);
    } catch (const std::exception&) {  // a dead queue no longer touches it
    }
}

void check_range(std::string_view op, size_t offset_B, size_t size_B, size_t have_B) {
  if (offset_B <= have_B && size_B <= have_B - offset_B) return;
  throw UsageError(fmt::format("[{}] bytes [{}, {}+{}) leave a buffer of {} B", op, offset_B,
                               offset_B, size_B, have_B));
}

}  // namespace

Allocation::Allocation(std::shared_ptr<Device> device, Block block, size_t size_B, std::string tag)
    : device_(std::move(device)),
      block_(block),
      size_B_(size_B),
      tag_(std::move(tag)),
      uses_(std::make_unique<Uses>()) {}

Allocation::~Allocation() { give_back(); }

Allocation::Allocation(Allocation&& other) noexcept = default;

Allocation& Allocation::operator=(Allocation&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  device_ = std::move(other.device_);
  block_ = other.block_;
  size_B_ = other.size_B_;
  tag_ = std::move(other.tag_);
  uses_ = std::move(other.uses_);
  return *this;
}

void Allocation::give_back() noexcept {
  if (!device_) return;
  Device::Impl& impl = device_->impl();
  if (impl.process == process_generation()) {  // in a forked child the pool's lock may be held
    MemoryPool::Values last_use{};
    for (size_t q = 0; q < kMaxQueues; ++q) last_use[q] = uses_->any[q].load();
    if (block_.imported) wait_foreign(impl, last_use);
    impl.pool.put(block_, last_use);
  }
  device_.reset();
}

Block Allocation::release() {
  device_.reset();
  return block_;
}

std::shared_ptr<Device> Buffer::device() const {
  return allocation_ ? allocation_->device() : nullptr;
}

Buffer Buffer::slice(size_t offset_B, size_t size_B) const {
  if (!allocation_) throw UsageError("[slice] the buffer is empty");
  check_range("slice", offset_B, size_B, size_B_);
  return Buffer(allocation_, offset_B_ + offset_B, size_B);
}

void* Buffer::host_pointer() const {
  if (!allocation_ || !allocation_->block().host) return nullptr;
  return static_cast<uint8_t*>(allocation_->block().host) + offset_B_;
}

uint64_t Buffer::device_address() const {
  if (!allocation_ || !allocation_->block().address) return 0;
  return allocation_->block().address + offset_B_;
}

void Buffer::wait() const {
  checked_impl(allocation_.get(), "wait");
  wait_for_uses(*allocation_, Access::write);
}

void Buffer::copy_in(const void* src, size_t size_B, size_t offset_B) const {
  Device::Impl& impl = checked_impl(allocation_.get(), "copy_in");
  check_range("copy_in", offset_B, size_B, size_B_);
  if (size_B == 0) return;
  wait_for_uses(*allocation_, Access::write);
  const Block& block = allocation_->block();
  if (block.host)
    std::memcpy(static_cast<uint8_t*>(block.host) + offset_B_ + offset_B, src, size_B);
  else
    impl.backend->write(block, offset_B_ + offset_B, src, size_B);
}

void Buffer::copy_out(void* dst, size_t size_B, size_t offset_B) const {
  Device::Impl& impl = checked_impl(allocation_.get(), "copy_out");
  check_range("copy_out", offset_B, size_B, size_B_);
  if (size_B == 0) return;
  wait_for_uses(*allocation_, Access::read);
  const Block& block = allocation_->block();
  if (block.host)
    std::memcpy(dst, static_cast<const uint8_t*>(block.host) + offset_B_ + offset_B, size_B);
  else
    impl.backend->read(block, offset_B_ + offset_B, dst, size_B);
}

void Buffer::fill_bytes(const void* pattern, size_t pattern_B) const {
  checked_impl(allocation_.get(), "fill");
  if (size_B_ % pattern_B)
    throw UsageError(
        fmt::format("[fill] {} B are not a whole number of {} B values", size_B_, pattern_B));
  constexpr size_t kChunk_B = 64 << 10;
  const size_t chunk_B = std::min(size_B_, std::max(kChunk_B / pattern_B, size_t{1}) * pattern_B);
  std::vector<uint8_t> chunk(chunk_B);
  for (size_t at = 0; at < chunk_B; at += pattern_B) std::memcpy(&chunk[at], pattern, pattern_B);
  for (size_t at = 0; at < size_B_; at += chunk_B)
    copy_in(chunk.data(), std::min(chunk_B, size_B_ - at), at);
}

void copy(const Buffer& dst, const Buffer& src) {
  if (!dst || !src) throw UsageError("[copy] a buffer is empty");
  if (dst.size_B() != src.size_B())
    throw UsageError(fmt::format("[copy] sizes {} and {} differ", dst.size_B(), src.size_B()));
  if (dst.device() == src.device()) {
    CommandList list = dst.device()->make_list();
    list.copy(dst, src);
    dst.device()->submit(list).wait();
    return;
  }
  if (const void* from = src.host_pointer()) {
    wait_for_uses(*src.allocation(), Access::read);
    dst.copy_in(from, src.size_B());
    return;
  }
  constexpr size_t kStage_B = 4 << 20;
  std::vector<uint8_t> stage(std::min(kStage_B, src.size_B()));
  for (size_t at = 0; at < src.size_B(); at += kStage_B) {
    const size_t size_B = std::min(kStage_B, src.size_B() - at);
    src.copy_out(stage.data(), size_B, at);
    dst.copy_in(stage.data(), size_B, at);
  }
}

}  // namespace tiny
