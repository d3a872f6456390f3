// SPDX-License-Identifier: MIT
// Every known escape, class, control and UVM number, with random and truncated arguments: nothing
// crashes, and the name is that of an independent list.
#include "tests/tools/decode/nv_call.h"
#include "tools/decode/nv_tables.h"

#include <catch2/catch.hpp>

#include <fstream>
#include <regex>
#include <sstream>

using namespace nv_test;

namespace {

struct Known {
  std::string kind, name, branch;
  std::uint32_t value = 0;
};

std::vector<Known> nvproxy() {
  std::ifstream file(NV_DATA "/nvproxy.tsv");
  std::vector<Known> all;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream cells(line);
    Known known;
    std::string value;
    cells >> known.kind >> value >> known.name >> known.branch;
    known.value = static_cast<std::uint32_t>(std::stoul(value, nullptr, 16));
    known.name = std::regex_replace(known.name, std::regex("_V[0-9]{3}$"), "");
    all.push_back(known);
  }
  return all;
}

/// The names that NVIDIA's headers spell otherwise than nvproxy.
std::string in_headers(const std::string& name) {
  if (name == "NV2080_CTRL_CMD_GPU_GET_NVENC_SW_SESSION_STATS")
    return "NV2080_CTRL_GPU_GET_NVENC_SW_SESSION_STATS";
  if (name == "NV2080_CTRL_CMD_GPU_GET_NVFBC_SW_SESSION_STATS")
    return "NV2080_CTRL_GPU_GET_NVFBC_SW_SESSION_STATS";
  return name;
}

Line decode_escape(std::uint32_t number, std::size_t size, std::mt19937& random, NvState& state) {
  const auto before = random_bytes(random, size), after = random_bytes(random, size);
  return decode_nvidia_ioctl(
      {escape(number, static_cast<std::uint32_t>(size)), 0, before, after, {}}, state,
      no_symbols());
}

Line decode_control(std::uint32_t cmd, std::size_t size, std::mt19937& random, NvState& state) {
  const auto params = random_bytes(random, size), result = random_bytes(random, size);
  Frame frame(32);
  frame.u32(0, 0xc1d00001).u32(4, 0x5c000001).u32(8, cmd).u64(0x10, Process::kParams);
  frame.u32(0x18, static_cast<std::uint32_t>(size));
  const Attachment attachment{Process::kParams, params, result};
  return decode_nvidia_ioctl({escape(0x2a, 32), 0, frame.bytes(), frame.bytes(), {&attachment, 1}},
                             state, no_symbols());
}

Line decode_class(std::uint32_t id, std::size_t size, std::mt19937& random, NvState& state) {
  const auto params = random_bytes(random, size);
  const bool is_long = random() & 1;
  Frame frame(is_long ? 48 : 32);
  frame.u32(0, 0xc1d00001).u32(4, 0xc1d00001).u32(8, 0x5c000001).u32(0xc, id);
  frame.u64(0x10, Process::kParams);
  const Attachment attachment{Process::kParams, params, params};
  return decode_nvidia_ioctl({escape(0x2b, static_cast<std::uint32_t>(frame.size())),
                              0,
                              frame.bytes(),
                              frame.bytes(),
                              {&attachment, 1}},
                             state, no_symbols());
}

Line decode_uvm(std::uint32_t number, std::size_t size, std::mt19937& random, NvState& state) {
  const auto before = random_bytes(random, size), after = random_bytes(random, size);
  return decode_uvm_ioctl({number, 0, before, after, {}}, state, no_symbols());
}

/// What the decoder calls this number.
std::string decoded_name(const std::string& kind, std::uint32_t value, std::size_t size,
                         std::mt19937& random, NvState& state) {
  if (kind == "escape") return "NV_ESC_" + decode_escape(value, size, random, state).name;
  if (kind == "uvm") return decode_uvm(value, size, random, state).name;
  if (kind == "control") return field(decode_control(value, size, random, state), "cmd");
  return field(decode_class(value, size, random, state), "hClass");
}

constexpr std::size_t kSizes[] = {0, 1, 3, 4, 7, 12, 16, 29, 32, 48, 100, 368, 1200, 9264};

}  // namespace

TEST_CASE("what nvproxy accepts is named as nvproxy names it") {
  std::mt19937 random(1);
  const std::vector<Known> all = nvproxy();
  REQUIRE(all.size() > 370);
  for (const Known& known : all) {
    NvState state;
    state.set_driver_version(known.branch + ".1");
    INFO(known.kind << " " << known.name << " of " << known.branch);
    const std::string name = decoded_name(known.kind, known.value, 64, random, state);
    // NV_ESC_IOCTL_XFER_CMD takes the name of what it carries; here nothing is attached.
    CHECK(name == in_headers(known.name));
  }
}

TEST_CASE("every number of the tables decodes with random and truncated arguments") {
  std::mt19937 random(2);
  std::size_t decoded = 0;
  for (const std::string kind : {"escape", "class", "control", "uvm"}) {
    for (const auto& [value, name] : nv::all_names(kind)) {
      for (const std::size_t size : kSizes) {
        NvState state;
        if (random() & 1) state.set_driver_version(random() & 1 ? "550.54" : "610.1");
        const auto number = static_cast<std::uint32_t>(value);
        const std::string text = decoded_name(kind, number, size, random, state);
        INFO(kind << " " << name->name << " with " << size << " bytes");
        // A number may be named otherwise in another branch.
        const nv::Name* known = nv::find_name(kind, value, state.branch());
        REQUIRE(known);
        REQUIRE(text == known->name);
        ++decoded;
      }
    }
  }
  CHECK(decoded > 20000);
}

TEST_CASE("unknown numbers are shown raw") {
  NvState state;
  const Frame frame = Frame(8).u32(0, 0xdeadbeef).u32(4, 7);
  CHECK(to_text(decode_nvidia_ioctl({escape(0x99, 8), -22, frame.bytes(), frame.bytes(), {}}, state,
                                    no_symbols())) ==
        "NV_ESC_0x99 data=efbeadde 07000000 result=-EINVAL");
  CHECK(to_text(decode_nvidia_ioctl({0xc0086d01, 0, frame.bytes(), frame.bytes(), {}}, state,
                                    no_symbols())) == "_IOC(RW,'m',0x1,8) data=efbeadde 07000000");
  Process process;
  CHECK(process.control(0xc1d00001, 0x5c000001, 0x20807777, frame, Frame(8).u32(4, 7), 0x56) ==
        "RM_CONTROL hClient=0xc1d00001 hObject=0x5c000001 cmd=0x20807777 "
        "status=NV_ERR_NOT_SUPPORTED params=efbeadde 07000000->00000000 07000000");
  CHECK(process.alloc(0xc1d00001, 0xc1d00001, 0x5c000009, 0xdddd, frame, 0x22) ==
        "RM_ALLOC hRoot=0xc1d00001 hObjectParent=0xc1d00001 hObjectNew=0x5c000009 hClass=0xdddd "
        "status=NV_ERR_INVALID_CLASS params=efbeadde 07000000");
  CHECK(process.uvm(0x5555, frame, frame) == "UVM_0x5555 data=efbeadde 07000000");
}
