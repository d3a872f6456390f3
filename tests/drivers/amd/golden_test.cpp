// SPDX-License-Identifier: MIT
// Lists as packets, against texts with symbolic addresses (tests/data/amd/golden). After a change
// that is meant, `drivers_amd_tests "[bless]"` writes them anew; read the difference.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/file.h>
#include <rt_tiny/runtime/device.h>
#include <rt_tiny/runtime/graph.h>

#include "drivers/amd/code_object.h"
#include "drivers/amd/copy_shader.h"
#include "drivers/amd/encoder.h"
#include "drivers/amd/pm4.h"
#include "drivers/amd/sdma.h"
#include "runtime/list_state.h"

#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <map>

using namespace tiny;
using namespace tiny::amd;

namespace {

/// Addresses and what they are called; longest match first.
class Names {
 public:
  void add(uint64_t address, uint64_t size_B, std::string name) {
    ranges_[address] = {size_B, std::move(name)};
  }
  std::string of(uint64_t address) const {
    auto found = ranges_.upper_bound(address);
    if (found == ranges_.begin()) return {};
    --found;
    const uint64_t offset = address - found->first;
    if (offset >= found->second.first) return {};
    return offset ? fmt::format("{}+{:#x}", found->second.second, offset) : found->second.second;
  }
  /// Replaces every number of the text that is an address.
  std::string apply(const std::string& text) const {
    std::string out;
    for (size_t at = 0; at < text.size();) {
      if (text.compare(at, 2, "0x") != 0) {
        out += text[at++];
        continue;
      }
      size_t used = 0;
      const uint64_t value = std::stoull(text.substr(at), &used, 16);
      const std::string name = of(value);
      out += name.empty() ? text.substr(at, used) : name;
      at += used;
    }
    return out;
  }

 private:
  std::map<uint64_t, std::pair<uint64_t, std::string>> ranges_;
};

struct Fixture {
  const Generation& generation;
  std::shared_ptr<Device> device;
  std::shared_ptr<Program> scale;
  EncodeContext context;
  Names names;

  explicit Fixture(const std::string& arch, bool engine = true)
      : generation(*find_generation(arch)), device(open_device("NULL:amd:" + arch)) {
    Binary b;
    b.name = "scale";
    b.code = read_file(fmt::format(TINY_AMD_DATA "/kernels_{}.o", arch));
    b.args = {{ArgSlot::Kind::buffer, 0, true, false},
              {ArgSlot::Kind::buffer, 8, false, true},
              {ArgSlot::Kind::variable, 16},
              {ArgSlot::Kind::variable, 24}};
    b.kernarg_B = 32;
    b.group_size = {256, 1, 1};
    using Code = LaunchExpr::Code;
    b.groups = {LaunchExpr({{Code::variable, 1},
                            {Code::constant, 255},
                            {Code::add, 0},
                            {Code::constant, 256},
                            {Code::floordiv, 0}}),
                LaunchExpr(1), LaunchExpr(1)};
    scale = device->load(b);
    context.generation = &generation;
    context.copy_engine = engine;
    for (uint64_t q = 0; q < 2; ++q) {
      const uint64_t at = 0x500000000000 + q * 0x1000;
      context.queues[q] = {at, at + 64, at + 128, at + 192};
      const char* queue = q ? "copy" : "compute";
      names.add(at, 8, fmt::format("{}.timeline", queue));
      names.add(at + 64, 8, fmt::format("{}.gate", queue));
      names.add(at + 128, 8, fmt::format("{}.post", queue));
      names.add(at + 192, 8, fmt::format("{}.order", queue));
    }
    context.copy_kernel = std::make_shared<KernelCode>();
    context.copy_kernel->name = "copy";
    context.copy_kernel->registers = copy_shader_registers(generation, 0x600000000000);
  }

  Buffer buffer(const char* name, size_t size_B) {
    Buffer b = device->alloc(size_B);
    names.add(b.device_address(), b.allocation()->block().size_B, name);
    return b;
  }

  std::unique_ptr<AmdList> encode(const CommandList& list) const {
    const bool engine = context.copy_engine;
    return encode_list(plan_queues(list.state()->commands, engine ? 2 : 1, engine ? 1 : 0),
                       context);
  }

  /// The kernel's address, shifted as the register takes it, is too small a number to be a name.
  std::string code_named(std::string dump) const {
    const auto& r = static_cast<const KernelCode&>(*scale->code()).registers;
    const std::string value = fmt::format("COMPUTE_PGM_LO={:#x} COMPUTE_PGM_HI={:#x}",
                                          static_cast<uint32_t>(r.entry >> 8), r.entry >> 40);
    for (size_t at = 0; (at = dump.find(value, at)) != std::string::npos;)
      dump.replace(at, value.size(), "COMPUTE_PGM_LO:HI=scale>>8");
    return dump;
  }

  std::string text(const AmdList& list) const {
    std::string out;
    static const char* kKinds[] = {"argument", "variable", "launch", "kernarg",
                                   "gate",     "post",     "scratch"};
    auto patches = [&](std::span<const Patch> all) {
      for (const Patch& p : all)
        out += fmt::format("  patch {:#06x} {} = {} {} + {:#x}\n", p.offset_B,
                           p.form == PatchForm::wide  ? "64 bits"
                           : p.form == PatchForm::low ? "low half"
                                                      : "high half",
                           kKinds[static_cast<size_t>(p.kind)], p.index, p.addend);
    };
    for (const AmdSegment& s : list.segments) {
      out += fmt::format("{} queue, {} dwords\n", s.queue ? "copy" : "compute", s.words.size());
      out += names.apply(s.queue ? sdma::dump(s.words) : code_named(pm4::dump(s.words)));
      patches(s.patches);
    }
    out += fmt::format("arguments, {} bytes\n", list.kernarg.size());
    for (size_t at = 0; at + 8 <= list.kernarg.size(); at += 8) {
      uint64_t value;
      std::memcpy(&value, list.kernarg.data() + at, 8);
      if (value) out += names.apply(fmt::format("  {:#06x}: {:#x}\n", at, value));
    }
    patches(list.kernarg_patches);
    return out;
  }
};

std::string dispatches(const std::string& arch) {
  Fixture f(arch);
  Buffer in = f.buffer("in", 4096), out = f.buffer("out", 4096);
  auto list = f.device->make_list();
  list.dispatch(f.scale, args(out, in, 3, 1000));
  list.dispatch(f.scale, args(in, out, 5, 1000));  // needs the first
  return f.text(*f.encode(list));
}

std::string symbols(const std::string& arch) {
  Fixture f(arch);
  Buffer middle = f.buffer("middle", 4096);
  auto list = f.device->make_list();
  list.dispatch(f.scale,
                args(middle, Symbol::buffer(0, 16), Symbol::variable(0), Symbol::variable(1)));
  list.copy(Symbol::buffer(1), middle);
  return f.text(*f.encode(list));
}

std::string copies(const std::string& arch, bool engine) {
  Fixture f(arch, engine);
  Buffer a = f.buffer("a", 3 << 20), b = f.buffer("b", 3 << 20);
  auto list = f.device->make_list();
  list.copy(b, a);
  list.copy(a.slice(0, 100), b.slice(7, 100));
  return f.text(*f.encode(list));
}

std::string timelines(const std::string& arch) {
  Fixture f(arch);
  Buffer stamp = f.buffer("stamp", 64), in = f.buffer("in", 4096), out = f.buffer("out", 4096);
  auto gate = f.device->make_timeline(), reached = f.device->make_timeline();
  // NULL has no clock, so the timestamps are put in by hand.
  auto list = f.device->make_list();
  list.wait(Fence(gate, 3));
  list.dispatch(f.scale, args(out, in, 3, 1000));
  list.signal(Fence(reached, 9));
  auto& commands = list.state()->commands;
  commands.push_back(TimestampCommand{{stamp.slice(8, 8), 0, 0, 0}});
  commands.push_back(BarrierCommand{});
  return f.text(*f.encode(list));
}

std::string copy_timelines(const std::string& arch) {
  Fixture f(arch);
  Buffer a = f.buffer("a", 4096), b = f.buffer("b", 4096), stamp = f.buffer("stamp", 64);
  auto gate = f.device->make_timeline(), reached = f.device->make_timeline();
  auto list = f.device->make_list();
  list.wait(Fence(gate, 3));
  list.copy(b, a);
  list.state()->commands.push_back(TimestampCommand{{stamp.slice(8, 8), 0, 0, 0}});
  list.signal(Fence(reached, 9));
  return f.text(*f.encode(list));
}

const std::map<std::string, std::function<std::string()>>& goldens() {
  static const std::map<std::string, std::function<std::string()>> table = {
      {"dispatches_gfx1100", [] { return dispatches("gfx1100"); }},
      {"dispatches_gfx1030", [] { return dispatches("gfx1030"); }},
      {"symbols_gfx1100", [] { return symbols("gfx1100"); }},
      {"copies_gfx1100", [] { return copies("gfx1100", true); }},
      {"copies_gfx1030", [] { return copies("gfx1030", true); }},
      {"copies_kernel_gfx1100", [] { return copies("gfx1100", false); }},
      {"timelines_gfx1100", [] { return timelines("gfx1100"); }},
      {"copy_timelines_gfx1100", [] { return copy_timelines("gfx1100"); }},
  };
  return table;
}

std::string path_of(const std::string& name) { return TINY_AMD_DATA "/golden/" + name + ".txt"; }

}  // namespace

TEST_CASE("lists become the packets of the goldens", "[amd:7][amd:21]") {
  for (const auto& [name, make] : goldens()) {
    const std::string now = make();
    std::string then;
    struct stat found{};
    if (::stat(path_of(name).c_str(), &found) == 0) {
      const auto bytes = read_file(path_of(name));
      then.assign(bytes.begin(), bytes.end());
    }
    INFO(name << "\n" << now);
    REQUIRE(now == then);
  }
}

TEST_CASE("write the goldens anew", "[.bless]") {
  for (const auto& [name, make] : goldens()) write_file_atomic(path_of(name), make());
}

TEST_CASE("patches put a submission's values where the packets want them") {
  Fixture f("gfx1100");
  Buffer a = f.buffer("a", 8192);
  auto list = f.device->make_list();
  list.dispatch(f.scale, args(Symbol::buffer(1), Symbol::buffer(0, 16), Symbol::variable(0),
                              Symbol::variable(1)));
  auto encoded = f.encode(list);
  const Buffer bound[] = {a.slice(256, 4096), a.slice(4096, 4096)};
  const int64_t variables[] = {-7, 1000};
  const uint64_t base = 0x7f00deadb000;
  PatchValues values{};
  gather_values(*encoded, {bound, variables, {}}, values);
  values[static_cast<size_t>(PatchKind::kernarg)] = &base;
  AmdSegment& segment = encoded->segments[0];
  apply_patches(segment.patches, segment.words.data(), values);
  apply_patches(encoded->kernarg_patches, encoded->kernarg.data(), values);
  std::array<uint64_t, 5> block{};
  std::memcpy(block.data(), encoded->kernarg.data(), sizeof block);
  REQUIRE(block[0] == a.device_address() + 4096);
  REQUIRE(block[1] == a.device_address() + 256 + 16);
  REQUIRE(static_cast<int64_t>(block[2]) == -7);
  REQUIRE(block[3] == 1000);
  REQUIRE(static_cast<uint32_t>(block[4]) == 4);  // hidden: groups along x
  bool dispatched = false, addressed = false;
  for (size_t at = 0; at < segment.words.size(); at += pm4::size_dw_of(segment.words[at])) {
    const auto words = std::span<const uint32_t>(segment.words).subspan(at);
    if (pm4::is_header_of(words[0], pm4::DISPATCH_DIRECT::kOpcode, 0)) {
      const auto p = pm4::DISPATCH_DIRECT::decode(words);
      REQUIRE(p.dim_x == 4);
      REQUIRE(p.dim_y == 1);
      REQUIRE(p.dispatch_initiator == 0x8005);
      dispatched = true;
    }
    if (pm4::is_header_of(words[0], pm4::SET_SH_REG::kOpcode, 0) && words[1] == 0x240) {
      REQUIRE((uint64_t{words[3]} << 32 | words[2]) == base);
      addressed = true;
    }
  }
  REQUIRE(dispatched);
  REQUIRE(addressed);
}

TEST_CASE("NULL for AMD chips queues what it cannot run") {
  for (const char* spec : {"NULL:amd", "NULL:amd:gfx1100", "null:AMD:gfx1030"}) {
    auto dev = open_device(spec);
    REQUIRE(dev->target().triple == "amdgcn-amd-amdhsa");
    Buffer a = dev->alloc(4096), b = dev->alloc(4096);
    auto list = dev->make_list();
    list.copy(b, a);
    list.copy(Symbol::buffer(0), b);
    Binary binary;
    binary.name = "increment";
    binary.code = read_file(fmt::format(TINY_AMD_DATA "/kernels_{}.o", dev->target().arch));
    binary.args = {{ArgSlot::Kind::buffer, 0, true, true}};
    binary.kernarg_B = 16;
    list.dispatch(dev->load(binary), args(a));
    list.copy(b, a);  // on the compute queue: by the copy kernel
    const Buffer bound[] = {a};
    dev->submit(list, {.buffers = bound}).wait();
    Graph(dev, list).replay({.buffers = bound}).wait();
    dev->synchronize();
  }
  REQUIRE(open_device("NULL:amd")->name() == "NULL:amd:gfx1100");
  REQUIRE_THROWS_WITH(open_device("NULL:amd:gfx9999"), Catch::Contains("gfx1030"));
}
