// SPDX-License-Identifier: MIT
#include "models/amd/shader.h"

#include "models/amd/isa/isa.h"

#include <algorithm>

#include <fmt/format.h>

namespace tiny::models::amd {
namespace {

constexpr uint64_t kShared = 1ull << 48, kPrivate = 2ull << 48;  ///< apertures
constexpr unsigned kResidentGroups = 4;                          ///< interleaved at a time

uint32_t bits(uint32_t word, unsigned hi, unsigned lo) {
  return word >> lo & uint32_t((1ull << (hi - lo + 1)) - 1);
}

// ---- memory for one wave

class ShaderMemory : public Memory {
 public:
  ShaderMemory(ChipMemory& chip, const Task& task) : chip_(chip), task_(task) {}

  MemoryResult load(const Access& a, void* data, uint32_t* poison) override {
    *poison = 0;
    return result(chip_.read(task_, a.address, data, a.size_B, route(a)), a);
  }
  bool joins_lanes() const override { return true; }
  MemoryResult store(const Access& a, const void* data, uint32_t) override {
    return result(chip_.write(task_, a.address, data, a.size_B, route(a)), a);
  }
  MemoryResult atomic(const Access& a, AtomicOp op, uint64_t source, uint64_t compare,
                      uint64_t* old, uint32_t* poison) override {
    *poison = 0;
    return result(chip_.atomic(task_, a.address, a.size_B, op, source, compare, old), a);
  }
  MemoryResult scalar_load(const Access& a, void* data, uint64_t* poison) override {
    *poison = 0;
    Route r;
    r.scalar = true;
    return result(chip_.read(task_, a.address, data, a.size_B, r), a);
  }
  unsigned fetch(uint64_t address, std::span<uint8_t, 64> out) override {
    return chip_.fetch(address, out.data());
  }
  void cache_control(uint64_t wave, CacheControl what) override {
    Own& own = owns_[wave];
    if (what == CacheControl::gl0_inv) own.gl0 = chip_.next_tick();
    if (what == CacheControl::gl1_inv) own.gl1 = chip_.next_tick();
    if (what == CacheControl::scalar_inv) {
      CacheAction action;
      action.glk_inv = true;
      chip_.control(action);
    }
  }

  MemoryFault last_fault;

 private:
  struct Own {
    uint32_t gl0 = 0, gl1 = 0;
  };
  Route route(const Access& a) const {
    Route r;
    r.bypass = a.policy.glc;
    r.unchecked = a.scratch;
    if (const auto own = owns_.find(a.wave); own != owns_.end())
      r.own_invalidate = std::min(own->second.gl0, own->second.gl1);
    return r;
  }
  MemoryResult result(const MemoryFault& fault, const Access&) {
    if (!fault) return {};
    last_fault = fault;
    return MemoryResult::fault(fault.address, fault_text(fault.kind));
  }

  ChipMemory& chip_;
  const Task& task_;
  std::unordered_map<uint64_t, Own> owns_;
};

/// One workgroup on the machine.
struct Group {
  std::array<uint32_t, 3> id{};
  std::vector<std::unique_ptr<Wave>> waves;
  std::vector<bool> done, at_barrier;
  std::unique_ptr<Lds> lds;
  std::vector<uint32_t> scratch_slots;
  unsigned live = 0, waiting = 0;
};

}  // namespace

struct ShaderEngine::State {
  State(ChipMemory& m, const Profile& p, uint64_t seed)
      : memory(m), profile(p), isa(p.target), code(isa), random(seed) {}
  ChipMemory& memory;
  const Profile& profile;
  Isa isa;
  CodeCache code;
  std::mt19937_64 random;
  uint64_t next_wave = 1;
};

namespace {

class Dispatch : public Execution {
 public:
  Dispatch(ShaderEngine::State& engine, Launch launch, Task task)
      : engine_(engine),
        launch_(std::move(launch)),
        task_(std::move(task)),
        memory_(engine.memory, task_) {
    total_ = uint64_t(launch_.groups[0]) * launch_.groups[1] * launch_.groups[2];
    for (uint32_t i = launch_.scratch_waves; i-- > 0;) free_slots_.push_back(i);
  }

  Outcome run(uint64_t budget) override {
    const uint64_t until = instructions_ + budget;
    while (instructions_ < until) {
      admit();
      if (resident_.empty()) {
        if (next_group_ < total_) return broken("no scratch slot is left for a workgroup");
        return {Outcome::State::done, {}, {}, 0};
      }
      const Outcome outcome = run_one();
      if (outcome.state != Outcome::State::running) return outcome;
    }
    return {};
  }
  uint64_t instructions() const override { return instructions_; }
  uint64_t waves() const override { return waves_; }

 private:
  Outcome broken(std::string text) {
    return {Outcome::State::broken, {}, launch_.text + ": " + std::move(text), 0};
  }

  unsigned lanes() const { return launch_.wave32 ? 32 : 64; }

  std::array<uint32_t, 3> size_of(const std::array<uint32_t, 3>& id) const {
    std::array<uint32_t, 3> size = launch_.group_size;
    for (unsigned d = 0; d < 3; ++d)
      if (launch_.last_size[d] && id[d] + 1 == launch_.groups[d]) size[d] = launch_.last_size[d];
    return size;
  }

  void admit() {
    while (resident_.size() < kResidentGroups && next_group_ < total_) {
      const uint64_t n = next_group_;
      const std::array<uint32_t, 3> id{uint32_t(n % launch_.groups[0]),
                                       uint32_t(n / launch_.groups[0] % launch_.groups[1]),
                                       uint32_t(n / launch_.groups[0] / launch_.groups[1])};
      const auto size = size_of(id);
      const uint32_t threads = size[0] * size[1] * size[2];
      const uint32_t count = (threads + lanes() - 1) / lanes();
      const bool scratch = (launch_.rsrc2 & 1) != 0;
      if (scratch && free_slots_.size() < count) return;
      ++next_group_;
      start_group(id, size, threads, count, scratch);
    }
  }

  void start_group(const std::array<uint32_t, 3>& id, const std::array<uint32_t, 3>& size,
                   uint32_t threads, uint32_t count, bool scratch) {
    auto group = std::make_unique<Group>();
    group->id = id;
    group->lds = std::make_unique<Lds>(launch_.lds_B, true);
    group->live = count;
    group->done.resize(count);
    group->at_barrier.resize(count);
    for (uint32_t w = 0; w < count; ++w) {
      uint32_t slot = 0;
      if (scratch) {
        slot = free_slots_.back();
        free_slots_.pop_back();
        group->scratch_slots.push_back(slot);
      }
      group->waves.push_back(make_wave(*group, size, threads, w, count, slot, scratch));
    }
    waves_ += count;
    resident_.push_back(std::move(group));
  }

  std::unique_ptr<Wave> make_wave(Group& group, const std::array<uint32_t, 3>& size,
                                  uint32_t threads, uint32_t index, uint32_t count, uint32_t slot,
                                  bool scratch) {
    const uint32_t first = index * lanes();
    const uint32_t active = std::min(lanes(), threads - first);
    WaveConfig c;
    c.lanes = lanes();
    c.vgprs = std::min<uint32_t>((bits(launch_.rsrc1, 5, 0) + 1) * (launch_.wave32 ? 8 : 4), 256);
    c.id = engine_.next_wave++;
    c.pc = launch_.pc;
    c.exec = active == 64 ? ~0ull : (1ull << active) - 1;
    c.float_mode = uint8_t(bits(launch_.rsrc1, 19, 12));
    c.dx10_clamp = bits(launch_.rsrc1, 21, 21);
    c.ieee = bits(launch_.rsrc1, 23, 23);
    c.shared_base = kShared;
    c.private_base = kPrivate;
    c.waves_in_group = count;
    if (scratch) {
      c.scratch_base = launch_.scratch_base + uint64_t(slot) * launch_.scratch_wave_B;
      c.scratch_lane_B = launch_.scratch_wave_B / lanes();
    }
    auto wave = std::make_unique<Wave>(c);
    wave->memory = &memory_;
    wave->lds = group.lds.get();
    wave->flat_scratch = c.scratch_base;
    preload_scalars(*wave, group, index, count, slot, scratch);
    preload_ids(*wave, size, first, active);
    return wave;
  }

  void preload_scalars(Wave& wave, const Group& group, uint32_t index, uint32_t count,
                       uint32_t slot, bool scratch) const {
    const uint32_t users = bits(launch_.rsrc2, 5, 1);
    unsigned next = 0;
    for (; next < users && next < 16; ++next) wave.set_sgpr(next, launch_.user_data[next]);
    for (unsigned d = 0; d < 3; ++d)
      if (launch_.rsrc2 >> (7 + d) & 1) wave.set_sgpr(next++, group.id[d]);
    if (launch_.rsrc2 >> 10 & 1)
      wave.set_sgpr(next++, (index == 0 ? 1u << 31 : 0) | index << 6 | count);
    // gfx11 puts the wave's place into flat_scratch itself.
    if (scratch && !engine_.profile.gfx11()) wave.set_sgpr(next++, slot * launch_.scratch_wave_B);
  }

  void preload_ids(Wave& wave, const std::array<uint32_t, 3>& size, uint32_t first,
                   uint32_t active) const {
    const bool packed = engine_.profile.gfx11();
    const uint32_t count = bits(launch_.rsrc2, 12, 11);
    for (uint32_t lane = 0; lane < active; ++lane) {
      const uint32_t n = first + lane;
      const uint32_t x = n % size[0], y = n / size[0] % size[1], z = n / size[0] / size[1];
      if (packed) {
        wave.set_vgpr(0, lane, x | y << 10 | z << 20);
        continue;
      }
      wave.set_vgpr(0, lane, x);
      if (count >= 1) wave.set_vgpr(1, lane, y);
      if (count >= 2) wave.set_vgpr(2, lane, z);
    }
  }

  Outcome run_one() {
    const size_t g = engine_.random() % resident_.size();
    Group& group = *resident_[g];
    std::vector<unsigned> ready;
    for (unsigned w = 0; w < group.waves.size(); ++w)
      if (!group.done[w] && !group.at_barrier[w]) ready.push_back(w);
    const unsigned w = ready[engine_.random() % ready.size()];
    Wave& wave = *group.waves[w];
    const uint64_t before = wave.instructions;
    Stop stop = engine_.code.run(wave, 64 + engine_.random() % 2048);
    instructions_ += std::max<uint64_t>(wave.instructions - before, 1);
    switch (stop.reason) {
      case StopReason::end:
        end_wave(g, w);
        break;
      case StopReason::barrier:
        group.at_barrier[w] = true;
        ++group.waiting;
        open_barrier(group);
        break;
      case StopReason::fault:
        return fault(stop.fault, group, w);
      case StopReason::trap:
        return {Outcome::State::illegal,
                {},
                fmt::format("{}: s_trap {} without a trap handler, workgroup ({}, {}, {}) wave {}",
                            launch_.text, stop.value, group.id[0], group.id[1], group.id[2], w),
                wave.pc};
      case StopReason::yield:
      case StopReason::budget:
      case StopReason::message:
        break;
    }
    return {};
  }

  void end_wave(size_t g, unsigned w) {
    Group& group = *resident_[g];
    group.done[w] = true;
    if (--group.live == 0) {
      for (uint32_t slot : group.scratch_slots) free_slots_.push_back(slot);
      resident_.erase(resident_.begin() + long(g));
    } else {
      open_barrier(group);
    }
  }

  /// A wave that ended no longer counts.
  static void open_barrier(Group& group) {
    if (group.waiting == 0 || group.waiting < group.live) return;
    group.waiting = 0;
    std::fill(group.at_barrier.begin(), group.at_barrier.end(), false);
    group.lds->next_epoch();
  }

  Outcome fault(const Fault& fault, const Group& group, unsigned w) {
    Outcome outcome;
    outcome.pc = fault.pc;
    outcome.text = fmt::format("{}: workgroup ({}, {}, {}) wave {}: {}", launch_.text, group.id[0],
                               group.id[1], group.id[2], w, fault.message());
    if (fault.kind == FaultKind::memory) {
      outcome.state = Outcome::State::memory_fault;
      outcome.fault = memory_.last_fault;
    } else if (fault.kind == FaultKind::fetch) {
      outcome.state = Outcome::State::memory_fault;
      const GpuRange* range = engine_.memory.map.find(fault.pc);
      outcome.fault = {range ? AccessFault::no_execute : AccessFault::not_present, fault.pc};
    } else if (fault.kind == FaultKind::illegal || fault.kind == FaultKind::unknown_opcode) {
      outcome.state = Outcome::State::illegal;
    } else {
      outcome.state = Outcome::State::broken;
    }
    return outcome;
  }

  ShaderEngine::State& engine_;
  Launch launch_;
  Task task_;
  ShaderMemory memory_;
  uint64_t total_ = 0, next_group_ = 0, instructions_ = 0, waves_ = 0;
  std::vector<std::unique_ptr<Group>> resident_;
  std::vector<uint32_t> free_slots_;
};

}  // namespace

ShaderEngine::ShaderEngine(ChipMemory& memory, const Profile& profile, uint64_t seed)
    : state_(std::make_unique<State>(memory, profile, seed)) {}
ShaderEngine::~ShaderEngine() = default;

std::string ShaderEngine::check(const Launch& l) const {
  const uint64_t threads = uint64_t(l.group_size[0]) * l.group_size[1] * l.group_size[2];
  if (threads == 0) return "a workgroup has no threads";
  if (threads > 1024) return fmt::format("a workgroup has {} threads, more than 1024", threads);
  if (l.pc % 256 != 0) return fmt::format("code at 0x{:x} is not aligned to 256 bytes", l.pc);
  if (l.lds_B > 65536) return fmt::format("{} bytes of LDS, more than 65536", l.lds_B);
  const uint32_t users = bits(l.rsrc2, 5, 1);
  if (users > 16) return fmt::format("{} user SGPRs, more than 16", users);
  if (!(l.rsrc2 & 1)) return "";
  const uint64_t waves = (threads + (l.wave32 ? 31 : 63)) / (l.wave32 ? 32 : 64);
  if (l.scratch_wave_B == 0) return "SCRATCH_EN, but COMPUTE_TMPRING_SIZE.WAVESIZE is 0";
  if (l.scratch_waves < waves)
    return fmt::format("scratch for {} waves, but a workgroup has {}", l.scratch_waves, waves);
  if (l.scratch_base == 0) return "SCRATCH_EN, but the scratch base is 0";
  return "";
}

std::optional<uint64_t> ShaderEngine::stale_code(const Launch& launch, const Task& task) const {
  ShaderMemory memory(state_->memory, task);
  return state_->code.stale_from(memory, launch.pc);
}

std::unique_ptr<Execution> ShaderEngine::start(const Launch& launch, const Task& task) {
  return std::make_unique<Dispatch>(*state_, launch, task);
}

void ShaderEngine::invalidate_code() { state_->code.invalidate(); }

}  // namespace tiny::models::amd
