// SPDX-License-Identifier: MIT
#include "drivers/amd/staging.h"

#include <rt_tiny/runtime/base/error.h>

#include "drivers/amd/copy_shader.h"
#include "drivers/amd/registers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tiny::amd {
namespace {

constexpr uint64_t kKernargSlot_B = 64;

/// One copy by the engine, without head and tail.
Words engine_copy(const Generation& g, uint64_t dst, uint64_t src, uint64_t size_B) {
  Words out;
  for (uint64_t at_B = 0; at_B < size_B;) {
    const uint64_t piece_B = std::min(size_B - at_B, g.sdma_max_copy_B);
    put(out, sdma::COPY_LINEAR{.count = static_cast<uint32_t>(piece_B - 1),
                               .src_addr = src + at_B,
                               .dst_addr = dst + at_B});
    at_B += piece_B;
  }
  return out;
}

/// One copy by the kernel, whose arguments lie at `kernargs`.
Words kernel_copy(const KernelRegisters& r, uint64_t kernargs, uint64_t size_B) {
  using namespace regs;
  Words out;
  set_sh_reg(out, COMPUTE_NUM_THREAD_X, {kCopyGroup, 1, 1});
  set_sh_reg(out, COMPUTE_PGM_LO,
             {static_cast<uint32_t>(r.entry >> 8), static_cast<uint32_t>(r.entry >> 40)});
  set_sh_reg(out, COMPUTE_PGM_RSRC1, {r.rsrc1, r.rsrc2});
  set_sh_reg(out, COMPUTE_PGM_RSRC3, {r.rsrc3});
  set_sh_reg(out, COMPUTE_USER_DATA_0,
             {static_cast<uint32_t>(kernargs), static_cast<uint32_t>(kernargs >> 32)});
  constexpr uint64_t kGroup_B = uint64_t{kCopyGroup} * kCopyThread_B;
  put(out, pm4::DISPATCH_DIRECT{.dim_x = static_cast<uint32_t>((size_B + kGroup_B - 1) / kGroup_B),
                                .dim_y = 1,
                                .dim_z = 1,
                                .dispatch_initiator = dispatch_initiator(r.wave32)});
  return out;
}

}  // namespace

Staging::Staging(std::shared_ptr<Memory> memory, const Gpu& gpu, Engine engine, Monitor& monitor,
                 std::shared_ptr<KernelCode> copy_kernel, Words first_setup)
    : memory_(std::move(memory)),
      monitor_(monitor),
      copy_kernel_(std::move(copy_kernel)),
      setup_(std::move(first_setup)) {
  context_.generation = gpu.generation;
  buffer_ = OwnedRegion::of(memory_, MemoryKind::gtt_uncached, 2 * kHalf_B, "staging buffer");
  kernargs_ = OwnedRegion::of(memory_, MemoryKind::gtt_uncached, kPage_B, "staging arguments");
  queue_ = std::make_unique<HwQueue>(memory_, gpu,
                                     HwQueue::Config{.engine = engine,
                                                     .name = "staging",
                                                     .ring_dw = 1 << 12,
                                                     .error_event = monitor_.error_event()},
                                     [this](HwQueue& q, uint64_t value, uint64_t timeout_ns) {
                                       monitor_.sleep(q, value, timeout_ns);
                                     });
  monitor_.watch(queue_.get());
}

Staging::~Staging() {
  monitor_.forget(queue_.get());
  queue_.reset();
}

uint64_t Staging::submit(uint64_t dst, uint64_t src, uint64_t size_B, size_t half) {
  Words words;
  if (queue_->engine() == Engine::copy) {
    words = engine_copy(*context_.generation, dst, src, size_B);
  } else {
    const uint64_t slot_B = half * kKernargSlot_B;
    const CopyKernargs kernargs{dst, src, size_B};
    std::memcpy(kernargs_->as<uint8_t>(slot_B), &kernargs, sizeof kernargs);
    words = kernel_copy(copy_kernel_->registers, kernargs_->address + slot_B, size_B);
  }
  RingSubmit s;
  s.new_code = last_ == 0;
  s.setup = setup_;
  s.words = words;
  s.value = ++last_;
  queue_->submit(s, {});
  setup_.clear();
  return last_;
}

void Staging::write(uint64_t device, const void* src, size_t size_B) {
  std::lock_guard lock(mutex_);
  const auto* from = static_cast<const uint8_t*>(src);
  uint64_t busy[2] = {0, 0};
  for (size_t at_B = 0, half = 0; at_B < size_B; half ^= 1) {
    const size_t piece_B = std::min<size_t>(size_B - at_B, kHalf_B);
    queue_->timeline()->wait(busy[half]);
    std::memcpy(buffer_->as<uint8_t>(half * kHalf_B), from + at_B, piece_B);
    busy[half] = submit(device + at_B, buffer_->address + half * kHalf_B, piece_B, half);
    at_B += piece_B;
  }
  queue_->timeline()->wait(last_);
}

void Staging::read(uint64_t device, void* dst, size_t size_B) {
  std::lock_guard lock(mutex_);
  auto* to = static_cast<uint8_t*>(dst);
  const size_t pieces = (size_B + kHalf_B - 1) / kHalf_B;
  uint64_t ready[2] = {0, 0};
  auto piece_B = [&](size_t i) { return std::min<size_t>(size_B - i * kHalf_B, kHalf_B); };
  auto start = [&](size_t i) {
    ready[i % 2] =
        submit(buffer_->address + i % 2 * kHalf_B, device + i * kHalf_B, piece_B(i), i % 2);
  };
  if (pieces) start(0);
  for (size_t i = 0; i < pieces; ++i) {
    if (i + 1 < pieces) start(i + 1);
    queue_->timeline()->wait(ready[i % 2]);
    std::memcpy(to + i * kHalf_B, buffer_->as<uint8_t>(i % 2 * kHalf_B), piece_B(i));
  }
}

std::string Staging::self_test(uint64_t timeout_ns) {
  constexpr size_t kBytes = 4096;
  const OwnedRegion device = OwnedRegion::of(memory_, MemoryKind::vram, kBytes, "self-test");
  std::string problem;
  auto* const stage = buffer_->as<uint8_t>();
  for (size_t i = 0; i < kBytes; ++i) stage[i] = static_cast<uint8_t>(i * 7 + (i >> 8));
  submit(device->address, buffer_->address, kBytes, 0);
  submit(buffer_->address + kHalf_B, device->address, kBytes, 1);
  if (!queue_->timeline()->wait_for(last_, timeout_ns))
    problem = fmt::format("copies did not finish in {} ms", timeout_ns / 1'000'000);
  else if (std::memcmp(stage, buffer_->as<uint8_t>(kHalf_B), kBytes) != 0)
    problem = "copies came back different";
  if (!problem.empty()) queue_->stop();  // nothing of it may write any more
  return problem;
}

}  // namespace tiny::amd
