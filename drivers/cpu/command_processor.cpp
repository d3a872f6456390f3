// SPDX-License-Identifier: MIT
#include "drivers/cpu/command_processor.h"

#include <rt_tiny/runtime/base/error.h>

#include "drivers/cpu/packets.h"
#include "drivers/cpu/threads.h"
#include "runtime/spin.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace tiny::cpu {
namespace {

template <class T>
T* pointer(uint64_t bits) {
  return reinterpret_cast<T*>(bits);
}

}  // namespace

CommandProcessor::CommandProcessor(Config config)
    : config_(std::move(config)), pool_(std::make_unique<WorkerPool>(config_.threads)) {
  thread_ = start_thread("tiny-" + config_.name, [this] { loop(); });
}

CommandProcessor::~CommandProcessor() {
  door_.stop();
  thread_.join();
}

void CommandProcessor::loop() {
  FaultGuard guard;
  while (!door_.stopped()) {
    const uint64_t put_dw = door_.wait_past(read_dw_, config_.idle_spin_ns);
    if (!dead_) consume(put_dw);
    if (dead_) read_dw_ = put_dw;
  }
}

void CommandProcessor::consume(uint64_t put_dw) {
  const size_t size_dw = config_.ring.size();
  while (read_dw_ < put_dw && !dead_) {
    const size_t at = read_dw_ & (size_dw - 1);
    const size_t ready = std::min<uint64_t>(put_dw - read_dw_, size_dw - at);
    read_dw_ += step(config_.ring.subspan(at, ready));
  }
}

size_t CommandProcessor::step(std::span<const uint32_t> words) {
  using namespace packets;
  const uint32_t head = words[0];
  const size_t size_dw = 1 + size_t{body_dw_of(head)};
  if (size_dw > words.size()) {
    die("a packet runs past the end", words);
    return words.size();
  }
  const auto packet = words.first(size_dw);
  if (opcode_of(head) == DISPATCH::kOpcode) {
    const auto d = DISPATCH::decode(packet);
    if (batch_.empty()) batch_words_.assign(packet.begin(), packet.end());
    batch_.push_back({pointer<const CpuCode>(d.code),
                      pointer<const void>(d.kernarg),
                      {d.groups_x, d.groups_y, d.groups_z},
                      d.cost_ns});
    return size_dw;
  }
  if (opcode_of(head) == NOP::kOpcode) return size_dw;
  if (opcode_of(head) != INDIRECT::kOpcode) flush_batch();
  if (dead_) return size_dw;
  switch (opcode_of(head)) {
    case BARRIER::kOpcode:
      break;
    case COPY::kOpcode:
      copy(packet);
      break;
    case WAIT::kOpcode:
      wait(packet);
      break;
    case SIGNAL::kOpcode: {
      const auto p = SIGNAL::decode(packet);
      pointer<Timeline>(p.timeline)->signal(p.value);
      break;
    }
    case RELEASE::kOpcode:
      config_.timeline->signal(RELEASE::decode(packet).value);
      break;
    case TIMESTAMP::kOpcode:
      *pointer<uint64_t>(TIMESTAMP::decode(packet).address) = steady_ns();
      break;
    case INDIRECT::kOpcode: {
      const auto p = INDIRECT::decode(packet);
      run_indirect({pointer<const uint32_t>(p.address), p.count_dw});
      break;
    }
    default:
      die("unknown packet", packet);
  }
  return size_dw;
}

void CommandProcessor::run_indirect(std::span<const uint32_t> words) {
  for (size_t at = 0; at < words.size() && !dead_;) {
    const auto rest = words.subspan(at);
    if (packets::opcode_of(rest[0]) == packets::INDIRECT::kOpcode)
      return die("an indirect buffer inside another", rest);
    at += step(rest);
  }
}

void CommandProcessor::flush_batch() {
  if (batch_.empty()) return;
  const auto fault = pool_->run(batch_);
  batch_.clear();
  if (!fault) return;
  die(fmt::format("kernel {} faulted in group ({}, {}, {}): {}; the address is {}",
                  fault->code->name(), fault->group[0], fault->group[1], fault->group[2],
                  to_string(fault->info), config_.describe_address(fault->info.address)),
      batch_words_);
}

void CommandProcessor::copy(std::span<const uint32_t> words) {
  const auto p = packets::COPY::decode(words);
  FaultInfo info;
  const bool ok = run_guarded(
      [&] { std::memmove(pointer<void>(p.dst), pointer<const void>(p.src), p.size_B); }, info);
  if (!ok)
    die(fmt::format("copy faulted: {}; the address is {}", to_string(info),
                    config_.describe_address(info.address)),
        words);
}

void CommandProcessor::wait(std::span<const uint32_t> words) {
  const auto p = packets::WAIT::decode(words);
  Timeline& timeline = *pointer<Timeline>(p.timeline);
  constexpr uint64_t kSlice_ns = 10'000'000;
  try {
    while (!timeline.wait_for(p.value, kSlice_ns))
      if (door_.stopped()) return die("the device was closed during a wait", words);
  } catch (const DeviceFault& fault) {
    die(fmt::format("waited for {}, which died: {}", timeline.name(), fault.what()), words);
  }
}

void CommandProcessor::die(const std::string& what, std::span<const uint32_t> words) {
  dead_ = true;
  batch_.clear();
  config_.timeline->poison(fmt::format("{} queue: {}\nat dword {}: {}", config_.name, what,
                                       read_dw_, packets::to_string(words)));
}

}  // namespace tiny::cpu
