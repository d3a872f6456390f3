// SPDX-License-Identifier: MIT
// What the interpreter reports that silicon would let pass: missing waits, uninitialised values,
// accesses out of bounds, unknown opcodes; and that the instruction cache goes stale.
#include "tests/models/amd/isa_harness.h"

#include <catch2/catch.hpp>

using namespace isa_test;

namespace {

/// v[0:1] = data + 4·lane, s[0:1] = data.
uint64_t with_data(Bench& bench, size_t size_B = 4096, bool poisoned = false) {
  const uint64_t data = bench.memory.add(size_B, poisoned);
  Wave& w = bench.fresh();
  for (unsigned l = 0; l < bench.lanes; ++l) {
    w.set_vgpr(0, l, static_cast<uint32_t>(data + 4 * l));
    w.set_vgpr(1, l, static_cast<uint32_t>(data >> 32));
  }
  w.set_sgpr(0, static_cast<uint32_t>(data));
  w.set_sgpr(1, static_cast<uint32_t>(data >> 32));
  return data;
}

Stop run_with_data(const std::string& text, bool poisoned = false, const char* target = "gfx1100") {
  Bench bench(target);
  bench.lds = std::make_unique<Lds>(1024);
  with_data(bench, 4096, poisoned);
  bench.wave->set_vgpr(20, 0, 0);
  return bench.run_text(text);
}

void is_fault(const Stop& stop, FaultKind kind, const std::string& text) {
  REQUIRE(stop.reason == StopReason::fault);
  CHECK(std::string(fault_name(stop.fault.kind)) == fault_name(kind));
  CHECK_THAT(stop.fault.message(), Catch::Contains(text));
  CHECK(stop.fault.pc >= kCode);
}

}  // namespace

TEST_CASE("a register read before the wait that covers its load is reported") {
  is_fault(run_with_data("global_load_b32 v2, v[0:1], off\n v_add_nc_u32 v3, v2, v2"),
           FaultKind::hazard, "v_add_nc_u32");
  CHECK(run_with_data(
            "global_load_b32 v2, v[0:1], off\n s_waitcnt vmcnt(0)\n v_add_nc_u32 v3, v2, v2")
            .reason == StopReason::end);
  // Loads return in order: a wait for all but one covers the first of two only.
  const std::string two =
      "global_load_b32 v2, v[0:1], off\n global_load_b32 v3, v[0:1], off offset:4\n s_waitcnt "
      "vmcnt(1)\n";
  CHECK(run_with_data(two + "v_mov_b32 v4, v2").reason == StopReason::end);
  is_fault(run_with_data(two + "v_mov_b32 v4, v3"), FaultKind::hazard, "v3 is read");
  is_fault(run_with_data("global_load_b32 v2, v[0:1], off\n v_mov_b32 v2, 0"), FaultKind::hazard,
           "v2 is written");
  // The wrong counter does not help.
  is_fault(
      run_with_data("global_load_b32 v2, v[0:1], off\n s_waitcnt lgkmcnt(0)\n v_mov_b32 v4, v2"),
      FaultKind::hazard, "v2");
  // As an address, as data of a store.
  is_fault(run_with_data("global_load_b64 v[2:3], v[0:1], off\n global_load_b32 v4, v[2:3], off"),
           FaultKind::hazard, "v2");
  is_fault(run_with_data("global_load_b32 v2, v[0:1], off\n global_store_b32 v[0:1], v2, off"),
           FaultKind::hazard, "v2");
  is_fault(run_with_data("global_load_dword v2, v[0:1], off\n v_add_nc_u32 v3, v2, v2", false,
                         "gfx1030"),
           FaultKind::hazard, "v2");
  CHECK(run_with_data(
            "global_load_dword v2, v[0:1], off\n s_waitcnt vmcnt(0)\n v_add_nc_u32 v3, v2, v2",
            false, "gfx1030")
            .reason == StopReason::end);
}

TEST_CASE("scalar loads return in any order, so only lgkmcnt(0) covers them") {
  is_fault(run_with_data("s_load_b32 s4, s[0:1], 0x0\n s_add_u32 s5, s4, s4"), FaultKind::hazard,
           "s4 is read");
  is_fault(run_with_data("s_load_b32 s4, s[0:1], 0x0\n s_load_b32 s6, s[0:1], 0x4\n s_waitcnt "
                         "lgkmcnt(1)\n s_mov_b32 s5, s4"),
           FaultKind::hazard, "s4");
  CHECK(run_with_data("s_load_b32 s4, s[0:1], 0x0\n s_waitcnt lgkmcnt(0)\n s_mov_b32 s5, s4")
            .reason == StopReason::end);
  is_fault(run_with_data("s_load_b32 s4, s[0:1], 0x0\n v_mov_b32 v2, s4"), FaultKind::hazard, "s4");
  is_fault(run_with_data("s_load_b64 vcc, s[0:1], 0x0\n s_cbranch_vccz 1\n s_nop 0"),
           FaultKind::hazard, "s106");
}

TEST_CASE("LDS and flat operations need their own waits") {
  const std::string store = "v_mov_b32 v2, 0\n ds_store_b32 v2, v2\n ds_load_b32 v3, v2\n";
  is_fault(run_with_data(store + "v_mov_b32 v4, v3"), FaultKind::hazard, "v3");
  is_fault(run_with_data(store + "s_waitcnt vmcnt(0)\n v_mov_b32 v4, v3"), FaultKind::hazard, "v3");
  CHECK(run_with_data(store + "s_waitcnt lgkmcnt(0)\n v_mov_b32 v4, v3").reason == StopReason::end);
  // No lane is in LDS: the data come with vmcnt.
  is_fault(run_with_data("flat_load_b32 v3, v[0:1]\n s_waitcnt lgkmcnt(0)\n v_mov_b32 v4, v3"),
           FaultKind::hazard, "v3");
  CHECK(run_with_data("flat_load_b32 v3, v[0:1]\n s_waitcnt vmcnt(0)\n v_mov_b32 v4, v3").reason ==
        StopReason::end);
  CHECK(run_with_data("flat_load_b32 v3, v[0:1]\n s_waitcnt vmcnt(0) lgkmcnt(0)\n v_mov_b32 v4, v3")
            .reason == StopReason::end);
  is_fault(run_with_data("v_mov_b32 v2, 0\n ds_store_b32 v2, v2\n s_barrier"), FaultKind::hazard,
           "before the barrier");
  CHECK(run_with_data("v_mov_b32 v2, 0\n ds_store_b32 v2, v2\n s_waitcnt lgkmcnt(0)\n s_barrier")
            .reason == StopReason::barrier);
}

TEST_CASE("stores complete at the wait for them, and at the end") {
  Bench bench("gfx1100");
  with_data(bench);
  bench.wave->set_vgpr(2, 0, 1);
  bench.load(
      "v_mov_b32 v2, 0\n global_store_b32 v[0:1], v2, off\n global_store_b32 v[0:1], v2, off\n"
      "s_waitcnt_vscnt null, 0x1\n s_sleep 1\n s_waitcnt_vscnt null, 0x0\n s_sleep 1");
  REQUIRE(bench.run().reason == StopReason::yield);
  CHECK(bench.memory.completed == 1);
  REQUIRE(bench.run().reason == StopReason::yield);
  CHECK(bench.memory.completed == 2);
  CHECK(bench.wave->outstanding.empty());
}

TEST_CASE("uninitialised values travel and are reported where they matter") {
  is_fault(run_with_data("global_load_b32 v3, v[8:9], off"), FaultKind::uninitialized, "v8");
  is_fault(run_with_data("s_load_b32 s4, s[8:9], 0x0"), FaultKind::uninitialized, "address");
  is_fault(run_with_data("v_add_f32 v3, v8, v9\n global_store_b32 v[0:1], v3, off"),
           FaultKind::uninitialized, "never written");
  is_fault(run_with_data("s_cmp_eq_u32 s8, 0\n s_cbranch_scc1 0"), FaultKind::uninitialized, "SCC");
  is_fault(run_with_data("v_cmp_eq_u32 vcc_lo, v8, v9\n s_and_b32 exec_lo, exec_lo, vcc_lo"),
           FaultKind::uninitialized, "EXEC");
  is_fault(run_with_data("v_cmpx_eq_u32 v8, v9"), FaultKind::uninitialized, "EXEC");
  // Memory never written, through a load, arithmetic and LDS.
  is_fault(run_with_data("global_load_b32 v3, v[0:1], off\n s_waitcnt vmcnt(0)\n v_mul_f32 v3, v3, "
                         "v3\n v_mov_b32 v4, 0\n"
                         "ds_store_b32 v4, v3\n ds_load_b32 v5, v4\n s_waitcnt lgkmcnt(0)\n "
                         "global_store_b32 v[0:1], v5, off",
                         true),
           FaultKind::uninitialized, "global_store_b32");
  // Not where bits are masked away, selected away, or only the other half is used.
  const char* kFine[] = {
      "v_and_b32 v3, 0xff00, v8\n v_and_b32 v3, 0xff, v3\n v_lshlrev_b32 v4, 16, v8\n v_and_b32 "
      "v4, 0xffff, v4\n global_store_b32 v[0:1], v4, off",
      "v_mov_b32 v3, 1\n s_mov_b32 s4, 0\n v_cndmask_b32 v3, v3, v8, s4\n global_store_b32 v[0:1], "
      "v3, off",
      "v_mov_b32 v3, 1\n v_cvt_f16_f32 v8, v3\n global_store_b16 v[0:1], v8, off",
      "s_mov_b32 s4, 0\n s_and_b32 s5, s8, s4\n s_cmp_eq_u32 s5, 0\n s_cbranch_scc1 0",
      "v_mov_b32 v3, 0x3c00\n v_pack_b32_f16 v8, v3, v3\n global_store_b32 v[0:1], v8, off"};
  for (const char* text : kFine) {
    const Stop stop = run_with_data(text);
    INFO(text << "\n" << stop.fault.message());
    CHECK(stop.reason == StopReason::end);
  }
  Bench lax("gfx1100");
  with_data(lax);
  lax.wave->policy.poison_store = false;
  CHECK(lax.run_text("v_add_f32 v3, v8, v9\n global_store_b32 v[0:1], v3, off").reason ==
        StopReason::end);
  CHECK(lax.memory.poisoned(lax.wave->vgpr(0, 0) | uint64_t(lax.wave->vgpr(1, 0)) << 32));
}

TEST_CASE("a selected word brings the poison of its own half only") {
  const auto run = [](const char* text) {
    Bench bench("gfx1030");
    with_data(bench);
    const Stop stop = bench.run_text(std::string("v_mov_b32 v3, 1\n") + text +
                                     "\n global_store_dword v[0:1], v4, off");
    return stop.reason == StopReason::end;
  };
  const std::string word = " dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD";
  // The high half of v8 stays what it was: never written.
  const std::string low = "v_lshlrev_b16 v8, 8, v3\n";
  CHECK(run((low + "v_or_b32_sdwa v4, v3, v8 dst_sel:WORD_1" + word).c_str()));
  CHECK(run((low + "v_or_b32_sdwa v4, v3, v8 dst_sel:WORD_0" + word).c_str()));
  CHECK(run((low + "v_or_b32_sdwa v4, v3, v8 dst_sel:BYTE_3" + word).c_str()));
  CHECK_FALSE(run((low + "v_or_b32_sdwa v4, v3, v8 dst_sel:DWORD" + word).c_str()));
  CHECK_FALSE(run(("v_or_b32_sdwa v4, v3, v9 dst_sel:WORD_1" + word).c_str()));
}

TEST_CASE("accesses out of bounds name the lane and the address") {
  Stop stop = run_with_data("global_load_b32 v2, v[0:1], off offset:4088\n s_waitcnt vmcnt(0)");
  is_fault(stop, FaultKind::memory, "global_load_b32 v2, v[0:1], off offset:4088");
  CHECK(stop.fault.lane == 2);
  stop = run_with_data("v_mov_b32 v2, 0x3fd\n ds_load_b32 v3, v2");
  is_fault(stop, FaultKind::lds_range, "of 1024");
  CHECK(stop.fault.address == 0x3fd);
  is_fault(run_with_data("v_mov_b32 v2, 2\n v_mov_b32 v3, 1\n ds_add_u32 v2, v3"),
           FaultKind::misaligned, "ds_add_u32");
  is_fault(run_with_data("v_mov_b32 v2, 0\n scratch_load_b32 v3, v2, off"),
           FaultKind::scratch_range, "of 0");
  Bench small("gfx1100");
  small.config.vgprs = 8;
  small.fresh();
  is_fault(small.run_text("v_mov_b32 v8, 0"), FaultKind::register_range, "v8 of 8");
  Bench wild("gfx1100");
  wild.fresh();
  is_fault(wild.run_text("s_mov_b64 s[4:5], 0x70000\n s_setpc_b64 s[4:5]"), FaultKind::fetch,
           "0x70000");
}

TEST_CASE("an opcode that is not modelled or not an instruction is named, never skipped") {
  is_fault(run_with_data("s_nop 0\n image_load v2, v0, s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_1D"),
           FaultKind::unknown_opcode, "image_load");
  Bench bench("gfx1100");
  bench.fresh();
  bench.load("s_nop 0");
  bench.memory.add_at(kCode, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, true);
  is_fault(bench.run(), FaultKind::illegal, "no gfx1100 instruction");
  CHECK(run_with_data("s_getreg_b32 s4, hwreg(40)").reason == StopReason::fault);
}

TEST_CASE("code that changed in memory runs stale until the cache is invalidated", "[amd:12]") {
  Bench bench("gfx1100");
  bench.fresh();
  bench.load("s_mov_b32 s4, 1");
  REQUIRE(bench.run().reason == StopReason::end);
  CHECK(bench.wave->sgpr(4) == 1);
  bench.memory.add_at(kCode, assemble("gfx1100", 32, "s_mov_b32 s4, 2\n s_endpgm"), true);
  bench.wave->pc = kCode;
  REQUIRE(bench.run().reason == StopReason::end);
  CHECK(bench.wave->sgpr(4) == 1);
  bench.cache->invalidate();
  bench.wave->pc = kCode;
  REQUIRE(bench.run().reason == StopReason::end);
  CHECK(bench.wave->sgpr(4) == 2);
}

TEST_CASE("code that is the same after an invalidate goes on to what is new behind it") {
  Bench bench("gfx1100");
  bench.fresh();
  bench.load("s_mov_b32 s4, 1\n s_mov_b32 s5, 1");
  for (const uint32_t value : {1u, 2u, 1u, 3u}) {
    const std::string second = " s_mov_b32 s5, " + std::to_string(value) + "\n s_endpgm";
    bench.memory.add_at(kCode, assemble("gfx1100", 32, "s_mov_b32 s4, 1\n" + second), true);
    bench.cache->invalidate();
    for (int run = 0; run < 2; ++run) {
      bench.wave->pc = kCode;
      REQUIRE(bench.run().reason == StopReason::end);
      CHECK(bench.wave->sgpr(4) == 1);
      CHECK(bench.wave->sgpr(5) == value);
    }
  }
}

TEST_CASE("waves stop and go on: barrier, sleep, message, trap, budget") {
  Bench bench("gfx1100");
  bench.fresh();
  bench.load(
      "s_mov_b32 s4, 1\n s_barrier\n s_sleep 3\n s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\n s_trap 2\n "
      "s_mov_b32 s4, 2");
  CHECK(bench.run(1).reason == StopReason::budget);
  CHECK(bench.run().reason == StopReason::barrier);
  Stop stop = bench.run();
  CHECK(stop.reason == StopReason::yield);
  CHECK(stop.value == 3);
  stop = bench.run();
  CHECK(stop.reason == StopReason::message);
  CHECK(stop.value == 3);
  stop = bench.run();
  CHECK(stop.reason == StopReason::trap);
  CHECK(stop.value == 2);
  CHECK(bench.run().reason == StopReason::end);
  CHECK(bench.wave->sgpr(4) == 2);
}

TEST_CASE("hardware registers, EXEC chains and VOPD read before they write", "[amd:18]") {
  Bench bench("gfx1100");
  Wave& w = bench.fresh();
  for (unsigned l = 0; l < 32; ++l) w.set_vgpr(0, l, l), w.set_vgpr(1, l, 100 + l);
  const Stop stop = bench.run_text(
      "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3\n s_getreg_b32 s4, hwreg(HW_REG_MODE, 0, 4)\n"
      "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0\n"
      "v_cmp_lt_u32 vcc_lo, 15, v0\n s_and_saveexec_b32 s5, vcc_lo\n v_mov_b32 v0, 7\n"
      "s_or_b32 exec_lo, exec_lo, s5\n v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0\n"
      "v_readlane_b32 s6, v0, 3\n v_readfirstlane_b32 s7, v1\n v_writelane_b32 v0, s6, 9");
  INFO(stop.fault.message());
  REQUIRE(stop.reason == StopReason::end);
  CHECK(w.sgpr(4) == 3);
  CHECK(w.exec == 0xffffffffu);
  for (unsigned l = 0; l < 32; ++l) {
    CHECK(w.vgpr(0, l) == (l == 9 ? 103 : 100 + l));
    CHECK(w.vgpr(1, l) == (l < 16 ? l : 7));
  }
  CHECK(w.sgpr(6) == 103);
  CHECK(w.sgpr(7) == 0);
}

TEST_CASE("DPP moves lanes within rows and honours masks and bounds") {
  Bench bench("gfx1100");
  auto run = [&](const std::string& text, uint64_t exec = ~0ull) {
    Wave& w = bench.fresh();
    w.exec = exec & w.lane_mask;
    for (unsigned l = 0; l < 32; ++l) w.set_vgpr(0, l, l), w.set_vgpr(1, l, 99);
    const Stop stop = bench.run_text(text);
    INFO(text << stop.fault.message());
    REQUIRE(stop.reason == StopReason::end);
    std::vector<uint32_t> out;
    for (unsigned l = 0; l < 32; ++l) out.push_back(w.vgpr(1, l));
    return out;
  };
  auto all = [](auto f) {
    std::vector<uint32_t> out;
    for (unsigned l = 0; l < 32; ++l) out.push_back(static_cast<uint32_t>(f(l)));
    return out;
  };
  CHECK(run("v_mov_b32_dpp v1, v0 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf") ==
        all([](unsigned l) { return l ^ 3; }));
  CHECK(run("v_mov_b32_dpp v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf") ==
        all([](unsigned l) { return l % 16 ? l - 1 : 99; }));
  CHECK(run("v_mov_b32_dpp v1, v0 row_shl:2 row_mask:0xf bank_mask:0xf bound_ctrl:1") ==
        all([](unsigned l) { return l % 16 < 14 ? l + 2 : 0; }));
  CHECK(run("v_mov_b32_dpp v1, v0 row_ror:3 row_mask:0xf bank_mask:0xf") ==
        all([](unsigned l) { return (l & 16) | ((l - 3) & 15); }));
  CHECK(run("v_mov_b32_dpp v1, v0 row_mirror row_mask:0x1 bank_mask:0xf") ==
        all([](unsigned l) { return l < 16 ? 15 - l : 99; }));
  CHECK(run("v_mov_b32_dpp v1, v0 row_share:5 row_mask:0xf bank_mask:0x2") ==
        all([](unsigned l) { return l / 4 % 4 == 1 ? (l & 16) | 5 : 99; }));
  CHECK(run("v_mov_b32_dpp v1, v0 row_xmask:9 row_mask:0xf bank_mask:0xf") ==
        all([](unsigned l) { return l ^ 9; }));
  CHECK(run("v_mov_b32_dpp v1, v0 dpp8:[7,6,5,4,3,2,1,0]") ==
        all([](unsigned l) { return l ^ 7; }));
  // Inactive lanes: neither written nor, without fi, read.
  CHECK(run("v_mov_b32_dpp v1, v0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", 0x77777777u) ==
        all([](unsigned l) { return l % 4 >= 2 ? 99 : l ^ 1; }));
  CHECK(run("v_mov_b32_dpp v1, v0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf fi:1",
            0x77777777u) == all([](unsigned l) { return l % 4 == 3 ? 99 : l ^ 1; }));
  CHECK(run("s_mov_b32 s2, 0x76543210\n s_mov_b32 s3, 0xfedcba98\n v_permlanex16_b32 v1, v0, s2, "
            "s3") == all([](unsigned l) { return l ^ 16; }));
  CHECK(run("ds_swizzle_b32 v1, v0 offset:swizzle(SWAP,4)\n s_waitcnt lgkmcnt(0)") ==
        all([](unsigned l) { return l ^ 4; }));
}

TEST_CASE("halves, pairs and atomics in LDS") {
  Bench bench("gfx1100");
  bench.lds = std::make_unique<Lds>(4096);
  Wave& w = bench.fresh();
  for (unsigned l = 0; l < 32; ++l)
    w.set_vgpr(0, l, 8 * l), w.set_vgpr(2, l, 0x1000 + l), w.set_vgpr(3, l, 0xabcd0000u + l),
        w.set_vgpr(10, l, 5), w.set_vgpr(11, l, 6);
  const Stop stop = bench.run_text(
      "ds_store_2addr_b32 v0, v2, v3 offset0:0 offset1:1\n ds_load_b64 v[4:5], v0\n ds_load_u16 "
      "v6, v0 offset:6\n"
      "ds_load_u8_d16_hi v10, v0 offset:5\n ds_load_i16 v11, v0 offset:6\n v_mov_b32 v12, 0x800\n "
      "v_mov_b32 v13, 3\n v_mov_b32 v15, 0\n"
      "ds_store_b32 v12, v15\n ds_add_rtn_u32 v14, v12, v13\n s_waitcnt lgkmcnt(0)\n ds_load_b32 "
      "v15, v12\n s_waitcnt lgkmcnt(0)");
  INFO(stop.fault.message());
  REQUIRE(stop.reason == StopReason::end);
  for (unsigned l = 0; l < 32; ++l) {
    CHECK(w.vgpr(4, l) == 0x1000 + l);
    CHECK(w.vgpr(5, l) == 0xabcd0000u + l);
    CHECK(w.vgpr(6, l) == 0xabcd);
    CHECK(w.vgpr(10, l) == 5);
    CHECK(w.vgpr(11, l) == 0xffffabcdu);
    CHECK(w.vgpr(14, l) == 3 * l);
    CHECK(w.vgpr(15, l) == 96);
  }
}

TEST_CASE("an LDS address below zero comes back by the instruction's offset") {
  Bench bench("gfx1100");
  bench.lds = std::make_unique<Lds>(4096);
  Wave& w = bench.fresh();
  for (unsigned l = 0; l < 32; ++l) w.set_vgpr(0, l, 4 * l - 16), w.set_vgpr(1, l, 7 * l);
  const Stop stop = bench.run_text(
      "ds_store_b32 v0, v1 offset:16\n ds_load_b32 v2, v0 offset:16\n"
      "ds_load_2addr_b32 v[4:5], v0 offset0:4 offset1:4\n s_waitcnt lgkmcnt(0)");
  INFO(stop.fault.message());
  REQUIRE(stop.reason == StopReason::end);
  for (unsigned l = 0; l < 32; ++l) CHECK((w.vgpr(2, l) == 7 * l && w.vgpr(5, l) == 7 * l));
}

TEST_CASE("two waves that meet in LDS without a barrier race", "[amd:19]") {
  Bench bench("gfx1100");
  bench.lds = std::make_unique<Lds>(256, true);
  bench.load("v_mov_b32 v0, 0\n v_mov_b32 v1, 1\n ds_store_b32 v0, v1");
  REQUIRE((bench.fresh(), bench.run().reason) == StopReason::end);
  bench.config.id = 1;
  bench.fresh();
  is_fault(bench.run(), FaultKind::race, "wave 0");
  bench.lds->next_epoch();
  bench.fresh();
  CHECK(bench.run().reason == StopReason::end);
}

TEST_CASE("cache policy bits and scratch reach the memory") {
  Bench bench("gfx1100");
  with_data(bench);
  bench.memory.record = true;
  bench.config.scratch_base = bench.memory.add(64 * 32);
  bench.config.scratch_lane_B = 64;
  const uint32_t low = bench.wave->vgpr(0, 0), high = bench.wave->vgpr(1, 0);
  Wave& w = bench.fresh();
  for (unsigned l = 0; l < 32; ++l)
    w.set_vgpr(0, l, low), w.set_vgpr(1, l, high), w.set_vgpr(4, l, 1000 + l),
        w.set_vgpr(5, l, 2000 + l);
  w.exec = 0x100;
  const Stop stop = bench.run_text(
      "global_load_b32 v2, v[0:1], off glc dlc\n scratch_store_b64 off, v[4:5], off offset:8\n "
      "s_waitcnt_vscnt null, 0x0\n"
      "scratch_load_b32 v6, off, off offset:12\n s_waitcnt vmcnt(0)\n buffer_gl0_inv");
  INFO(stop.fault.message());
  REQUIRE(stop.reason == StopReason::end);
  REQUIRE(bench.memory.accesses.size() == 4);
  CHECK(bench.memory.accesses[0].policy.glc);
  CHECK(bench.memory.accesses[0].policy.dlc);
  CHECK_FALSE(bench.memory.accesses[0].policy.slc);
  CHECK(bench.memory.accesses[1].scratch);
  CHECK(bench.memory.accesses[1].address == bench.config.scratch_base + 2 * 128 + 8 * 4);
  CHECK(bench.memory.accesses[2].address == bench.config.scratch_base + 3 * 128 + 8 * 4);
  CHECK(w.vgpr(6, 8) == 2008);
  CHECK(bench.memory.controls == std::vector<CacheControl>{CacheControl::gl0_inv});
}
