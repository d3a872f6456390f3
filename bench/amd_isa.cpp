// SPDX-License-Identifier: MIT
// What our compiler makes of well-known graphs on an AMD chip: registers, LDS, spills, occupancy
// and the instruction mix of each kernel, read from its code object. Nothing runs.
//   amd-isa [CHIP] [GRAPH…]   CHIP: gfx1100 unless given; GRAPH: only these
//   amd-isa --check           also fails where a kernel spills or uses scratch memory
//
// The mix is static: instructions in the code, whatever loops they are in; loops says how much of
// VALU and VMEM lies between a backward branch and its target. Occupancy is waves a SIMD, of 16, as
// LLVM 19 computes it (llvm/lib/Target/AMDGPU/Utils/AMDGPUBaseInfo.cpp, IsaInfo), for waves of 32:
//   - VGPRs: gfx1100 and gfx1101 have 1536 a SIMD in granules of 24, other chips 1024 in granules
//   of
//     16. SGPRs never limit: each wave has 128.
//   - LDS in granules of 512 B: 128 KiB a WGP (4 SIMDs), 64 KiB a CU (2 SIMDs) in CU mode.
//   - groups: 32 a WGP, 16 a CU, where a group has more than one wave.
#include <elf.h>
#include <fmt/format.h>
#include <rt_tiny/rt_tiny.h>
#include <rt_tiny/runtime/base/elf.h>
#include <rt_tiny/runtime/base/knobs.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compiler/schedule/import.h"
#include "engine/executable.h"
#include "frontend/cell.h"
#include "models/amd/isa/instruction.h"
#include "runtime/list_state.h"

using namespace tiny;

namespace {

// ---- graphs ---------------------------------------------------------------------------------

Tensor input(const Shape& shape, DType type = DType::f32) {
  return Tensor::zeros(shape, type).contiguous().realize();
}

Tensor matmul(DType type) {
  const Shape square{1024, 1024};
  return input(square, type).matmul(input(square, type));
}
Tensor matmul_f32() { return matmul(DType::f32); }
Tensor matmul_f16() { return matmul(DType::f16); }
Tensor softmax() { return input({4096, 1024}).softmax(-1); }
Tensor layer_norm() {
  static const nn::LayerNorm norm{{768}};
  realize(nn::parameters(norm));
  return norm(input({4096, 768}));
}
Tensor conv() {
  static const nn::Conv2d layer{32, 64, 3};
  realize(nn::parameters(layer));
  return layer(input({64, 32, 32, 32}));
}

struct Graph {
  const char* name;
  Tensor (*make)();
};
constexpr Graph kGraphs[] = {
    {"matmul_f32", matmul_f32},
    {"matmul_f16", matmul_f16},
    {"softmax", softmax},
    {"layer_norm", layer_norm},
    {"conv", conv},
};

// ---- one kernel -----------------------------------------------------------------------------

enum Class : uint8_t { valu, salu, vmem, lds, smem, branch, wait, other, class_count };
constexpr const char* kClassNames[] = {"VALU", "SALU",   "VMEM", "LDS",
                                       "SMEM", "branch", "wait", "other"};

Class class_of(std::string_view mnemonic) {
  const auto any = [&](std::initializer_list<const char*> prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](const char* p) { return mnemonic.starts_with(p); });
  };
  if (any({"v_"})) return valu;
  if (any({"global_", "flat_", "buffer_", "scratch_"})) return vmem;
  if (any({"ds_"})) return lds;
  if (any({"s_load", "s_buffer_load", "s_dcache", "s_gl1_inv"})) return smem;
  if (any({"s_branch", "s_cbranch", "s_setpc", "s_swappc", "s_call"})) return branch;
  if (any({"s_waitcnt", "s_wait_", "s_barrier"})) return wait;
  if (any({"s_delay_alu", "s_nop", "s_clause", "s_endpgm", "s_code_end", "s_sendmsg",
           "s_set_inst_prefetch", "s_inst_prefetch", "s_sleep"}))
    return other;
  return any({"s_"}) ? salu : other;
}

struct KernelReport {
  std::string name;
  uint32_t vgprs = 0, sgprs = 0, spilled = 0, scratch_B = 0, threads = 0;
  uint64_t local_B = 0, code_B = 0;
  bool wgp_mode = false;
  double waves = 0;  ///< a SIMD
  std::array<int, class_count> mix{}, in_loops{};
};

uint32_t rounded(uint64_t value, uint32_t granule) {
  return static_cast<uint32_t>((value + granule - 1) / granule * granule);
}

double occupancy(const KernelReport& k, std::string_view chip) {
  constexpr uint32_t kMaxWaves = 16, kLane = 32;
  const bool full = chip == "gfx1100" || chip == "gfx1101";
  const uint32_t vgprs = full ? 1536 : 1024, granule = full ? 24 : 16;
  const uint32_t simds = k.wgp_mode ? 4 : 2;
  const uint32_t by_vgprs = std::min(kMaxWaves, vgprs / rounded(std::max(k.vgprs, 1u), granule));
  const uint32_t group_waves = (k.threads + kLane - 1) / kLane;
  uint32_t groups = by_vgprs * simds / group_waves;
  if (group_waves > 1) groups = std::min(groups, k.wgp_mode ? 32u : 16u);
  if (k.local_B) groups = std::min(groups, simds * (32u << 10) / rounded(k.local_B, 512));
  return static_cast<double>(groups * group_waves) / simds;
}

/// The one kernel's entry in the metadata note.
nlohmann::json metadata(const ElfObject& object) {
  constexpr uint32_t kType = 32;  // NT_AMDGPU_METADATA
  for (const ElfSection& section : object.sections()) {
    if (section.type != SHT_NOTE) continue;
    const auto bytes = object.contents(section);
    for (size_t at = 0; at + 12 <= bytes.size();) {
      uint32_t head[3];  // sizes of name and contents, type
      std::memcpy(head, bytes.data() + at, sizeof head);
      const size_t from = at + 12 + rounded(head[0], 4);
      if (from + head[1] > bytes.size()) break;
      if (head[2] == kType)
        return nlohmann::json::from_msgpack(bytes.subspan(from, head[1]))["amdhsa.kernels"][0];
      at = from + rounded(head[1], 4);
    }
  }
  throw UsageError("[amd-isa] a code object without metadata");
}

struct Counted {
  uint64_t pc;
  Class kind;
};

/// Instructions between the target of a backward branch and the branch.
void count_loops(const std::vector<Counted>& code,
                 const std::vector<std::pair<uint64_t, uint64_t>>& loops, KernelReport& out) {
  for (const Counted& i : code)
    if (std::any_of(loops.begin(), loops.end(),
                    [&](const auto& l) { return l.first <= i.pc && i.pc <= l.second; }))
      ++out.in_loops[i.kind];
}

void count_instructions(std::span<const uint8_t> text, std::string_view chip, KernelReport& out) {
  const models::amd::Disassembler disassembler(chip, 32);
  std::vector<Counted> code;
  std::vector<std::pair<uint64_t, uint64_t>> loops;
  for (size_t at = 0; at < text.size();) {
    const auto inst = disassembler.decode(text.subspan(at), at);
    if (!inst) throw UsageError(fmt::format("[amd-isa] {}: no instruction at {:#x}", out.name, at));
    const Class kind = class_of(inst->mnemonic);
    ++out.mix[kind];
    code.push_back({at, kind});
    if (kind == branch && !inst->operands.empty() &&
        inst->operands.back().kind == models::amd::Operand::Kind::immediate) {
      const int64_t words = static_cast<int16_t>(inst->operands.back().imm);
      if (words < 0) loops.emplace_back(at + 4 + static_cast<uint64_t>(words * 4), at);
    }
    at += inst->size_B;
  }
  count_loops(code, loops, out);
}

KernelReport inspect(const DispatchCommand& dispatch, std::string_view chip) {
  const Binary& binary = dispatch.program->binary();
  const ElfObject object(binary.code);
  const nlohmann::json kernel = metadata(object);
  KernelReport out;
  out.name = binary.name;
  out.vgprs = kernel.at(".vgpr_count");
  out.sgprs = kernel.at(".sgpr_count");
  out.spilled = kernel.at(".vgpr_spill_count").get<uint32_t>() +
                kernel.at(".sgpr_spill_count").get<uint32_t>();
  out.scratch_B = kernel.at(".private_segment_fixed_size");
  out.local_B = kernel.at(".group_segment_fixed_size").get<uint64_t>() + binary.local_B;
  out.threads = dispatch.group_size[0] * dispatch.group_size[1] * dispatch.group_size[2];
  const ElfSymbol* descriptor = object.find_symbol(binary.name + ".kd");
  const ElfSymbol* entry = object.find_symbol(binary.name);
  if (!descriptor || !entry) throw UsageError("[amd-isa] a code object without its kernel");
  const auto& sections = object.sections();
  constexpr uint32_t kRsrc1_B = 48, kWgpMode = 1u << 29;  // in the kernel descriptor
  uint32_t rsrc1 = 0;
  std::memcpy(&rsrc1,
              object.contents(sections[descriptor->section]).data() + descriptor->value + kRsrc1_B,
              sizeof rsrc1);
  out.wgp_mode = rsrc1 & kWgpMode;
  out.code_B = entry->size_B;
  count_instructions(object.contents(sections[entry->section]).subspan(entry->value, entry->size_B),
                     chip, out);
  out.waves = occupancy(out, chip);
  return out;
}

std::vector<KernelReport> inspect_graph(const Graph& graph, std::string_view chip) {
  const Tensor y = graph.make();
  const ir::Node* const root = detail::value(y).get();
  const auto executable =
      engine::executable_for(view_graph(std::span(&root, 1)), default_device(), {0});
  std::vector<KernelReport> out;
  for (const Command& command : executable->list.state()->commands)
    if (const auto* dispatch = std::get_if<DispatchCommand>(&command))
      out.push_back(inspect(*dispatch, chip));
  return out;
}

// ---- the table ------------------------------------------------------------------------------

void print_head() {
  fmt::print("{:11} {:26} {:>5} {:>5} {:>6} {:>6} {:>7} {:>7} {:>5} {:>5}", "graph", "kernel",
             "VGPRs", "SGPRs", "LDS_B", "spills", "scratch", "threads", "mode", "waves");
  for (const char* name : kClassNames) fmt::print(" {:>6}", name);
  fmt::print(" {:>6} {:>9} {:>9}\n", "code_B", "loop_VALU", "loop_VMEM");
}

void print_row(const Graph& graph, const KernelReport& k) {
  fmt::print("{:11} {:26} {:5} {:5} {:6} {:6} {:7} {:7} {:>5} {:5.1f}", graph.name,
             k.name.substr(0, 26), k.vgprs, k.sgprs, k.local_B, k.spilled, k.scratch_B, k.threads,
             k.wgp_mode ? "WGP" : "CU", k.waves);
  for (const int count : k.mix) fmt::print(" {:6}", count);
  fmt::print(" {:6} {:9} {:9}\n", k.code_B, k.in_loops[valu], k.in_loops[vmem]);
  std::fflush(stdout);
}

struct Options {
  bool check = false;
  std::string chip = "gfx1100";
  std::vector<std::string> names;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    if (text == "--check")
      options.check = true;
    else if (text.starts_with("gfx"))
      options.chip = text;
    else if (std::any_of(std::begin(kGraphs), std::end(kGraphs),
                         [&](const Graph& g) { return text == g.name; }))
      options.names.push_back(text);
    else
      throw UsageError(fmt::format(
          "unknown argument \"{}\"; usage: amd-isa [--check] [gfx1100] [GRAPH…]", text));
  }
  return options;
}

int run(const Options& options) {
  const ScopedKnobs device({{"DEV", "NULL:amd:" + options.chip}});
  int status = 0;
  print_head();
  for (const Graph& graph : kGraphs) {
    if (!options.names.empty() &&
        std::find(options.names.begin(), options.names.end(), graph.name) == options.names.end())
      continue;
    for (const KernelReport& kernel : inspect_graph(graph, options.chip)) {
      print_row(graph, kernel);
      if (!options.check || (kernel.spilled == 0 && kernel.scratch_B == 0)) continue;
      fmt::print(stderr, "amd-isa: {} spills\n", kernel.name);
      status = 1;
    }
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const std::exception& e) {
    fmt::print(stderr, "amd-isa: {}\n", e.what());
    return dynamic_cast<const UsageError*>(&e) ? 2 : 1;
  }
}
