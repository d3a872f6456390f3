// SPDX-License-Identifier: MIT
#include "drivers/amd/stream.h"

#include "drivers/amd/registers.h"

namespace tiny::amd {
namespace {

constexpr uint64_t kWholeRange = 0xff'ffff'ffff;  // in 256 B: all of the address space
constexpr uint32_t kPoll = 10;                    // Linux's own, gfx_v11_0.c

}  // namespace

pm4::ACQUIRE_MEM acquire(const AcquireScope& scope) {
  pm4::ACQUIRE_MEM p;
  p.coher_size = kWholeRange;
  p.poll_interval = kPoll;
  p.gli_inv = scope.instructions ? 1 : 0;
  p.glk_inv = p.glv_inv = p.gl1_inv = true;
  // Lines that this or another queue of ours has dirty go to memory first.
  p.gl2_inv = p.gl2_wb = scope.l2;
  return p;
}

/// Flags as Linux's own fences (gfx_v11_0_ring_emit_fence), but for those of GLM: it caches
/// metadata of compressed images, and there are none.
pm4::RELEASE_MEM release(uint64_t address, uint64_t value) {
  pm4::RELEASE_MEM p = order(address, value);
  p.gl2_wb = true;
  return p;
}

pm4::RELEASE_MEM order(uint64_t address, uint64_t value) {
  pm4::RELEASE_MEM p;
  p.event_type = pm4::VGT_EVENT_TYPE::CACHE_FLUSH_AND_INV_TS_EVENT;
  p.event_index = pm4::EVENT_INDEX::END_OF_PIPE;
  p.seq = 1;
  p.cache_policy = 3;
  p.data_sel = pm4::DATA_SEL::SEND_64_BIT_DATA;
  p.address = address;
  p.data = value;
  return p;
}

pm4::RELEASE_MEM release_event(uint64_t mailbox, uint32_t event_id) {
  pm4::RELEASE_MEM p;
  p.event_type = pm4::VGT_EVENT_TYPE::CACHE_FLUSH_AND_INV_TS_EVENT;
  p.event_index = pm4::EVENT_INDEX::END_OF_PIPE;
  p.cache_policy = 3;
  p.int_sel = pm4::INT_SEL::SEND_INTERRUPT_AFTER_WRITE_CONFIRM;
  p.data_sel = pm4::DATA_SEL::SEND_64_BIT_DATA;
  p.address = mailbox;
  p.data = event_id;
  p.int_ctxid = event_id;
  return p;
}

uint32_t dispatch_initiator(bool wave32) {
  using namespace regs;
  return 1u << COMPUTE_DISPATCH_INITIATOR__COMPUTE_SHADER_EN_lo |
         1u << COMPUTE_DISPATCH_INITIATOR__FORCE_START_AT_000_lo |
         (wave32 ? 1u : 0u) << COMPUTE_DISPATCH_INITIATOR__CS_W32_EN_lo;
}

Words initial_registers() {
  using namespace regs;
  Words out;
  set_sh_reg(out, COMPUTE_START_X, {0, 0, 0});
  set_sh_reg(out, COMPUTE_DISPATCH_SCRATCH_BASE_LO, {0, 0});
  set_sh_reg(out, COMPUTE_RESOURCE_LIMITS, {0});
  set_sh_reg(out, COMPUTE_TMPRING_SIZE, {0});
  set_sh_reg(out, COMPUTE_RESTART_X, {0, 0, 0});
  return out;
}

void set_sh_reg(Words& out, uint32_t first, std::initializer_list<uint32_t> values) {
  pm4::SET_SH_REG p;
  p.reg_offset = first;
  const size_t at = put(out, p);
  out.insert(out.end(), values);
  out[at] = pm4::header(pm4::SET_SH_REG::kOpcode, 0, out.size() - at);
}

size_t pm4_wait(Words& out, uint64_t address, uint64_t value) {
  pm4::WAIT_REG_MEM p;
  p.function = pm4::FUNCTION::GREATER_EQUAL;
  p.mem_space = pm4::MEM_SPACE::MEMORY;
  p.mask = ~0u;
  p.poll_interval = 4;
  p.mem_poll_addr = address + 4;
  p.reference = static_cast<uint32_t>(value >> 32);
  if (p.reference) put(out, p);
  p.mem_poll_addr = address;
  p.reference = static_cast<uint32_t>(value);
  return put(out, p) + pm4::WAIT_REG_MEM_dw::reference;
}

size_t sdma_wait(Words& out, uint64_t address, uint64_t value) {
  if (const auto high = static_cast<uint32_t>(value >> 32))
    put(out, sdma_poll(sdma::FUNC::GREATER_EQUAL, address + 4, high));
  return put(out, sdma_poll(sdma::FUNC::GREATER_EQUAL, address, static_cast<uint32_t>(value))) +
         sdma::POLL_REGMEM_dw::value;
}

sdma::GCR sdma_invalidate() {
  sdma::GCR p;
  p.gl2_inv = p.gl2_wb = true;  // the engine uses no other cache
  return p;
}

sdma::GCR sdma_write_back() {
  sdma::GCR p;
  p.gl2_wb = true;
  return p;
}

sdma::FENCE sdma_fence(uint64_t address, uint32_t value) {
  sdma::FENCE p;
  p.mtype = sdma::MTYPE::UC;
  p.addr = address;
  p.data = value;
  return p;
}

sdma::POLL_REGMEM sdma_poll(sdma::FUNC func, uint64_t address, uint32_t value) {
  sdma::POLL_REGMEM p;
  p.func = func;
  p.mem_poll = true;
  p.addr = address;
  p.value = value;
  p.mask = ~0u;
  p.interval = sdma::kPollInterval;
  p.retry_count = sdma::kRetryForEver;
  return p;
}

}  // namespace tiny::amd
