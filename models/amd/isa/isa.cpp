// SPDX-License-Identifier: MIT
// The run loop and the code cache.
#include "models/amd/isa/isa.h"

#include "models/amd/isa/decode.h"
#include "models/amd/isa/number.h"
#include "models/amd/isa/op.h"

#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace tiny::models::amd {

std::span<const std::span<const Row>> all_rows() {
  // Never destroyed: waves run until the very end of the process.
  static const auto& kAll = *new std::vector<std::span<const Row>>{
      salu_rows(),          sopp_rows(),         valu_integer_rows(), valu_float_rows(),
      valu_f16_rows(),      valu_convert_rows(), valu_compare_rows(), valu_division_rows(),
      valu_lane_rows(),     valu_packed_rows(),  valu_matrix_rows(),  lds_rows(),
      vector_memory_rows(), scalar_memory_rows()};
  return kAll;
}

const Row* find_row(std::string_view name) {
  static const auto& kByName = *[] {
    auto& map = *new std::unordered_map<std::string_view, const Row*>;
    for (const std::span<const Row>& rows : all_rows())
      for (const Row& row : rows)
        CHECK_INVARIANT(map.emplace(row.name, &row).second,
                        "two rows for " + std::string(row.name));
    return &map;
  }();
  const auto found = kByName.find(name);
  return found == kByName.end() ? nullptr : found->second;
}

Isa::Isa(std::string_view target)
    : target_(target),
      gfx11_(target == "gfx1100"),
      wave32_(std::make_unique<Disassembler>(target, 32)),
      wave64_(std::make_unique<Disassembler>(target, 64)) {}
Isa::~Isa() = default;

const Disassembler& Isa::disassembler(unsigned lanes) const {
  return lanes == 64 ? *wave64_ : *wave32_;
}

std::vector<std::string> Isa::modelled() {
  std::vector<std::string> out;
  for (const std::span<const Row>& rows : all_rows())
    for (const Row& row : rows) out.emplace_back(row.name);
  std::sort(out.begin(), out.end());
  return out;
}

bool Isa::models(std::string_view name) { return is_modelled(name); }

CodeCache::CodeCache(const Isa& isa) : isa_(isa) {}
CodeCache::~CodeCache() = default;

void CodeCache::invalidate() {
  constexpr size_t kMaxOps = 1 << 18;
  lines_.clear();
  ++invalidations_;
  if (ops_.size() < kMaxOps) return;
  by_pc_[0].clear();
  by_pc_[1].clear();
  ops_.clear();
}

std::optional<uint64_t> CodeCache::stale_from(Memory& memory, uint64_t pc) const {
  for (uint64_t base = pc & ~63ull;; base += 64) {
    const auto line = lines_.find(base);
    if (line == lines_.end()) return std::nullopt;
    uint8_t now[64];
    const unsigned valid = std::min(memory.fetch(base, now), line->second.valid);
    const auto differs = std::mismatch(now, now + valid, line->second.bytes).first;
    if (differs != now + valid) return base + static_cast<uint64_t>(differs - now);
  }
}

unsigned CodeCache::read(Memory& memory, uint64_t pc, uint8_t* out, unsigned size_B) {
  unsigned done = 0;
  while (done < size_B) {
    const uint64_t at = pc + done, base = at & ~63ull;
    auto [line, fresh] = lines_.try_emplace(base);
    if (fresh) line->second.valid = memory.fetch(base, line->second.bytes);
    const unsigned offset = static_cast<unsigned>(at - base);
    if (line->second.valid <= offset) {
      if (line->second.valid == 0) lines_.erase(line);
      break;
    }
    const unsigned take = std::min(line->second.valid - offset, size_B - done);
    std::memcpy(out + done, line->second.bytes + offset, take);
    done += take;
  }
  return done;
}

const Op* CodeCache::decode(Wave& wave, uint64_t pc) {
  uint8_t bytes[20];
  const unsigned size = pc & 3 ? 0 : read(*wave.memory, pc, bytes, sizeof bytes);
  if (size < 4) {
    wave.fail(
        FaultKind::fetch,
        pc & 3 ? "the program counter is not a multiple of 4" : "the address may not be executed",
        0, pc);
    return nullptr;
  }
  const std::optional<Instruction> inst = isa_.disassembler(wave.lanes).decode({bytes, size}, pc);
  if (!inst) {
    uint32_t word;
    std::memcpy(&word, bytes, 4);
    wave.fail(FaultKind::illegal,
              fmt::format("{:#010x} is no {} instruction", word, isa_.target()));
    return nullptr;
  }
  std::string problem;
  Op op;
  if (!make_op(*inst, pc, isa_.gfx11(), ops_, op, problem)) {
    wave.fail(FaultKind::unknown_opcode, problem);
    wave.stop.fault.text = inst->text;
    return nullptr;
  }
  std::memcpy(op.bytes, bytes, op.size_B);
  op.checked = invalidations_;
  ops_.push_back(std::move(op));
  return by_pc_[wave.lanes == 64][pc] = &ops_.back();
}

const Op* CodeCache::find(Wave& wave, uint64_t pc) {
  const auto& map = by_pc_[wave.lanes == 64];
  const auto found = map.find(pc);
  if (found == map.end()) return decode(wave, pc);
  const Op& op = *found->second;
  return op.checked == invalidations_ || unchanged(*wave.memory, op) ? &op : decode(wave, pc);
}

bool CodeCache::unchanged(Memory& memory, const Op& op) {
  uint8_t bytes[sizeof op.bytes];
  if (read(memory, op.pc, bytes, op.size_B) != op.size_B) return false;
  if (std::memcmp(bytes, op.bytes, op.size_B) != 0) return false;
  op.checked = invalidations_;
  return true;
}

namespace {

/// Reports a register that a load has not written yet.
[[gnu::noinline]] bool pending(Wave& w, const Op& op) {
  auto report = [&](char file, unsigned reg, const char* how) {
    uint64_t by = 0;
    for (const Outstanding& o : w.outstanding) {
      const unsigned first = file == 'v' ? o.vgpr : o.sgpr, count = file == 'v' ? o.vgprs : o.sgprs;
      if (reg >= first && reg < first + count) by = o.pc;
    }
    w.fail(FaultKind::hazard,
           fmt::format("{}{} is {} before the load issued at pc {:#x} was waited for", file, reg,
                       how, by));
    return true;
  };
  auto scan = [&](const Range* ranges, unsigned count, const uint8_t* flags, unsigned limit,
                  char file, const char* how) {
    for (unsigned r = 0; r < count; ++r)
      for (unsigned i = ranges[r].first; i < ranges[r].first + ranges[r].count && i < limit; ++i)
        if (flags[i]) return report(file, i, how);
    return false;
  };
  const unsigned vgprs = static_cast<unsigned>(w.vpending.size());
  // Vector loads return in order, so one may overwrite another's destination.
  auto only_vector_loads = [&] {
    for (const Outstanding& o : w.outstanding)
      for (unsigned r = 0; r < op.vwrite_count; ++r)
        if (o.kind != Outstanding::Kind::vector_load &&
            o.vgpr < op.vwrite[r].first + op.vwrite[r].count &&
            op.vwrite[r].first < o.vgpr + o.vgprs)
          return false;
    return true;
  };
  const unsigned vwrites = op.vector_load && only_vector_loads() ? 0 : op.vwrite_count;
  return scan(op.vread, op.vread_count, w.vpending.data(), vgprs, 'v', "read") ||
         scan(op.vwrite, vwrites, w.vpending.data(), vgprs, 'v', "written") ||
         scan(op.sread, op.sread_count, w.spending, kScalarRegCount, 's', "read") ||
         scan(op.swrite, op.swrite_count, w.spending, kScalarRegCount, 's', "written");
}

void execute(Wave& w, const Op& op) {
  const unsigned round = op.uses_round32 ? w.mode.round32 : op.uses_round64 ? w.mode.round64 : 0;
  if (round == 0) [[likely]]
    return op.execute(w, op);
  const HostRounding rounding(round);
  op.execute(w, op);
}

}  // namespace

void run_pair(Wave& w, const Op& op) {
  const Op& y = *op.second;
  if (!op.overlap) {
    execute(w, y);
    op.row->execute(w, op);
    return;
  }
  // Both halves read before either writes.
  uint32_t* x = w.vreg(op.dst.reg);
  uint32_t before[64], after[64];
  const Poison poison_before = w.vpoison[op.dst.reg];
  std::memcpy(before, x, w.lanes * 4);
  op.row->execute(w, op);
  std::memcpy(after, x, w.lanes * 4);
  const Poison poison_after = w.vpoison[op.dst.reg];
  std::memcpy(x, before, w.lanes * 4);
  w.vpoison[op.dst.reg] = poison_before;
  execute(w, y);
  std::memcpy(x, after, w.lanes * 4);
  w.vpoison[op.dst.reg] = poison_after;
}

Stop CodeCache::finish(Wave& wave, const Op& op) {
  if (wave.stop.reason == StopReason::fault) {
    if (wave.stop.fault.text.empty()) wave.stop.fault.text = op.text;
    wave.stop.fault.pc = op.pc;
    wave.pc = op.pc;
  }
  return wave.stop;
}

Stop CodeCache::run(Wave& wave, uint64_t budget) {
  CHECK_INVARIANT(wave.memory, "a wave without memory");
  wave.stopped = false;
  wave.stop = {};
  const Op* op = find(wave, wave.pc);
  for (; op;) {
    if (budget-- == 0) return {StopReason::budget, 0, {}};
    if (op->max_vgpr > wave.config.vgprs) [[unlikely]] {
      wave.fail(FaultKind::register_range,
                fmt::format("v{} of {} allocated", op->max_vgpr - 1, wave.config.vgprs));
      return finish(wave, *op);
    }
    if (!wave.outstanding.empty() && wave.policy.hazards && pending(wave, *op))
      return finish(wave, *op);
    ++wave.instructions;
    ++wave.cycles;
    wave.next_pc = op->pc + op->size_B;
    execute(wave, *op);
    if (wave.stopped) [[unlikely]] {
      if (wave.stop.reason != StopReason::fault) wave.pc = wave.next_pc;
      return finish(wave, *op);
    }
    wave.pc = wave.next_pc;
    const bool falls = wave.pc == op->pc + op->size_B;
    const Op* follow = falls ? op->next : wave.pc == op->taken_pc ? op->taken : nullptr;
    if (!follow || follow->checked != invalidations_) [[unlikely]] {
      follow = find(wave, wave.pc);
      if (falls)
        op->next = follow;
      else
        op->taken = follow, op->taken_pc = wave.pc;
    }
    op = follow;
  }
  wave.stop.fault.pc = wave.pc;
  return wave.stop;
}

}  // namespace tiny::models::amd
