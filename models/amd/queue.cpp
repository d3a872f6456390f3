// SPDX-License-Identifier: MIT
#include "models/amd/chip.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tiny::models::amd {

uint64_t gpu_clock() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return (uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec)) /
         (1'000'000'000 / kClock_Hz);
}

Queue::Queue(Gpu& owner, const abi::CreateQueue& a)
    : gpu(owner), id(a.queue_id), type(abi::QueueType(a.queue_type)), args(a) {
  const char* kind = sdma() ? "SDMA" : type == abi::kComputeAql ? "AQL" : "PM4";
  const std::string name = fmt::format("queue {} ({}) of GPU {}", id, kind, gpu.index);
  packet_line = gpu.kernel.order.add_line(name, gpu.index);
  dispatch_line = gpu.kernel.order.add_line(name, gpu.index);
  stamp_line = gpu.kernel.order.add_line(name, gpu.index);
  mapped = a.ring_size != 0 && (a.queue_percentage & 0xff) != 0;
}

std::string Queue::place() const {
  std::string text = fmt::format("queue {} ({}) ring offset 0x{:x}", id,
                                 sdma()                     ? "SDMA"
                                 : type == abi::kComputeAql ? "AQL"
                                                            : "PM4",
                                 args.ring_size ? read * ring_unit_B() % args.ring_size : 0);
  for (const Fetch& f : buffers) text += fmt::format(", IB 0x{:x}+0x{:x}", f.va, f.at_dw * 4);
  return text;
}

void Queue::report(Report::Kind kind, const std::string& text) {
  gpu.kernel.report(kind, place() + ": " + text);
}

void Queue::die(const std::string& why) {
  if (state == QueueState::dead) return;
  state = QueueState::dead;
  why_dead = why;
}

void Queue::bad_packet(const std::string& text) {
  report(Report::Kind::packet, text);
  die(text);
  exception(abi::kPacketUnsupported);
}

/// A page fault stops all queues that the process has on this GPU, and tells its MEMORY events.
void Queue::memory_fault(const MemoryFault& fault, const std::string& text) {
  report(Report::Kind::fault,
         fmt::format("{} at 0x{:x}: {}", fault_text(fault.kind), fault.address, text));
  die(text);
  exception(abi::kWaveMemoryViolation);
  gpu.kernel.memory_exception(gpu, fault);
}

/// Where the process asked for it in the save area's header, the exception's bit is set in its
/// payload and its event is signalled.
void Queue::exception(unsigned code) {
  if (args.ctx_save_restore_address == 0 || !gpu.kernel.runtime_enabled) return;
  abi::SaveAreaHeader header{};
  if (gpu.memory.peek(args.ctx_save_restore_address, &header, sizeof header)) return;
  if (header.err_payload_addr == 0) return;
  uint64_t payload = 0;
  if (gpu.memory.read_word(header.err_payload_addr, 8, &payload)) return;
  gpu.memory.write_word(header.err_payload_addr, 8, payload | 1ull << (code - 1));
  gpu.kernel.events.kernel_set(header.err_event_id);
}

void Queue::interrupt(uint32_t context_id) {
  ++gpu.kernel.stats.interrupts;
  rang_mailbox = false;
  if (!gpu.kernel.events.interrupt(context_id))
    report(Report::Kind::packet,
           fmt::format("interrupt with context {}, but no event's slot was written", context_id));
}

void Queue::settle_early_fence(bool waits_for_it) {
  if (early_fence == 0) return;
  const uint64_t at = std::exchange(early_fence, 0);
  if (!waits_for_it)
    report(Report::Kind::release,
           fmt::format("the fence at 0x{:x} tells of {}, whose stores GL2 may still hold", at,
                       early_text));
}

/// Mesa never invalidates GL2 without writing it back in the same packet.
void Queue::refuse_to_lose(const CacheAction& action, const std::string& packet_name) {
  if (!gpu.kernel.options.race_checks || !action.gl2_inv || action.gl2_wb) return;
  if (const uint64_t lost_B = gpu.memory.dirty_bytes())
    report(Report::Kind::release,
           fmt::format("{} invalidates GL2, in which {} bytes were not written back", packet_name,
                       lost_B));
}

Task Queue::packet_task(const std::string& text) {
  Task task;
  task.line = packet_line;
  task.sequence = gpu.kernel.order.add_task(packet_line, text);
  task.agent = sdma() ? Agent::sdma : Agent::packet;
  // Compute packets move their data in order; the copy engine works on several at a time.
  if (!sdma()) clock.set(packet_line, task.sequence);
  task.known = clock;
  return task;
}

void Queue::issue_event(std::string text, std::function<void()> effect) {
  InFlight event;
  event.text = std::move(text);
  event.when_done = std::move(effect);
  in_flight.push_back(std::move(event));
}

void Queue::issue_dispatch(Launch launch, std::string text, std::function<void()> when_done) {
  Kernel& kernel = gpu.kernel;
  InFlight flight;
  flight.is_dispatch = true;
  flight.text = text;
  flight.task.line = dispatch_line;
  flight.task.agent = Agent::shader;
  flight.task.sequence = kernel.order.add_task(dispatch_line, text);
  flight.task.known = clock;
  flight.when_done = std::move(when_done);
  flight.hung = std::exchange(gpu.hang_next, false);
  launch.text = std::move(text);
  ++kernel.stats.dispatches;
  if (const auto address = std::exchange(gpu.fault_next, std::nullopt)) {
    memory_fault(MemoryFault{AccessFault::not_present, *address}, launch.text + " (injected)");
    return;
  }
  if (kernel.options.shaders) {
    const std::string why = gpu.shaders.check(launch);
    if (!why.empty()) return bad_packet(launch.text + ": " + why);
    if (const auto at = gpu.shaders.stale_code(launch, flight.task);
        at && kernel.options.race_checks)
      report(Report::Kind::acquire,
             fmt::format("{}: the instruction cache holds old code at 0x{:x}", launch.text, *at));
    flight.dispatch = gpu.shaders.start(launch, flight.task);
  }
  in_flight.push_back(std::move(flight));
}

void Queue::wait_dispatches() { clock.set(dispatch_line, gpu.kernel.order.last(dispatch_line)); }

bool Queue::dispatches_done() const {
  return std::none_of(in_flight.begin(), in_flight.end(),
                      [](const InFlight& f) { return f.is_dispatch; });
}

Clock Queue::everything() const {
  Clock all = clock;
  for (const unsigned line : {packet_line, dispatch_line, stamp_line})
    all.set(line, gpu.kernel.order.last(line));
  return all;
}

void Queue::tamper_with_packet() {
  if (!gpu.kernel.tamper) return;
  if (!tampered) {
    gpu.kernel.tamper({sdma(), !buffers.empty(), id}, packet);
    tampered = packet;
  }
  packet = *tampered;
}

bool Queue::step_in_flight() {
  InFlight& front = in_flight.front();
  if (front.hung) return false;
  if (front.dispatch) {
    const uint64_t before = front.dispatch->instructions();
    const Outcome outcome = front.dispatch->run(gpu.kernel.options.slice);
    gpu.kernel.stats.instructions += front.dispatch->instructions() - before;
    using State = Outcome::State;
    if (outcome.state == State::running) return true;
    gpu.kernel.stats.waves += front.dispatch->waves();
    if (outcome.state == State::memory_fault) {
      memory_fault(outcome.fault, outcome.text);
      return true;
    }
    if (outcome.state != State::done) {
      report(Report::Kind::shader, outcome.text);
      die(outcome.text);
      exception(outcome.state == State::illegal ? abi::kWaveIllegalInstruction : abi::kWaveAbort);
      return true;
    }
  }
  InFlight done = std::move(front);
  in_flight.pop_front();
  if (done.when_done) done.when_done();
  return true;
}

void Queue::advance(uint64_t units) {
  read += units;
  gpu.memory.write_word(args.read_pointer_address, 8, read);
}

/// The CPU's 64-bit store, taken by exchange: the same value may come twice.
void Queue::take_doorbell() {
  if (state == QueueState::dead || !doorbell) return;
  const uint64_t value = std::atomic_ref<uint64_t>(*doorbell).exchange(kNotRung);
  if (value == kNotRung) return;
  Kernel& kernel = gpu.kernel;
  ++kernel.stats.doorbells;
  clock.join(kernel.order.host());
  if (value >> 32 == 0xffffffff)
    return report(Report::Kind::doorbell,
                  fmt::format("doorbell 0x{:x} was not a 64-bit store", value));
  const uint64_t rung = type == abi::kComputeAql ? value + 1 : value;
  uint64_t memory = 0;
  gpu.memory.read_word(args.write_pointer_address, 8, &memory);
  if (memory < rung)
    report(Report::Kind::doorbell,
           fmt::format("doorbell {} is ahead of the write pointer in memory, {}", value, memory));
  if (rung < write && type == abi::kComputeAql) return;  // producers may ring out of order
  if (rung < write) return bad_packet(fmt::format("doorbell went back from {} to {}", write, rung));
  const uint64_t size = args.ring_size / ring_unit_B();
  if (rung - read > size)
    return bad_packet(fmt::format(
        "doorbell {} is more than the ring of {} ahead of the read pointer {}", rung, size, read));
  write = rung;
}

bool Queue::has_work() const {
  return state == QueueState::running && mapped &&
         (read < write || !in_flight.empty() || !buffers.empty());
}

/// Packets run ahead of the dispatches they issue, as on silicon; which of the two goes next is
/// drawn, so that nothing may rely on it.
Progress Queue::step() {
  if (state != QueueState::running || !mapped || gpu.paused) return Progress::none;
  const bool packets_first = gpu.kernel.random() % 4 != 0;
  const auto packets = [&] {
    if (read >= write && buffers.empty()) return false;
    if (sdma()) return step_sdma();
    return type == abi::kComputeAql ? step_aql() : step_pm4();
  };
  const auto flights = [&] { return !in_flight.empty() && step_in_flight(); };
  if (!has_work()) settle_early_fence();
  if (rang_mailbox && !has_work()) {
    rang_mailbox = false;
    report(Report::Kind::packet, "an event's slot was written, but no interrupt followed");
  }
  const bool some = packets_first ? packets() || (state == QueueState::running && flights())
                                  : flights() || (state == QueueState::running && packets());
  return some ? Progress::some : Progress::none;
}

}  // namespace tiny::models::amd
