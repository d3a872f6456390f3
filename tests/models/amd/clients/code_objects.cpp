// SPDX-License-Identifier: MIT
// Kernels of our compiler for somebody else's runtime: writes their objects, arguments and shapes
// into a folder, and checks what came back against the kernel's own interpreter and our own driver.
//
//   code_objects write FOLDER ARCH     N.o, N.in, and a line of kernels.txt for each
//   code_objects check FOLDER ARCH     against N.out, made by hip_objects; wants the GPU as AMD:0
#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/file.h>
#include <rt_tiny/runtime/device.h>

#include <cstdio>
#include <string>

#include "compiler/compile.h"
#include "compiler/lower/interpret_kernel.h"
#include "tests/compiler/lower_kernels.h"

namespace {

using namespace tiny;

constexpr uint64_t kSeed = 11;
constexpr size_t kEvery = 7;  // of the samples, which repeat themselves in seven sizes

struct Chosen {
  test::Sample sample;
  Target target;
};

/// The same for both commands. The last ones share operands through LDS, which a chip of few
/// processors does also at this size.
std::vector<Chosen> choose(const std::string& arch) {
  std::vector<Chosen> out;
  const Target chip = test::gfx_target(arch);
  const std::vector<test::Sample> samples = test::samples();
  for (size_t i = 0; i < samples.size(); i += kEvery) out.push_back({samples[i], chip});
  Target small = chip;
  small.parallelism = 2;
  out.push_back({{"linear", [] { return test::linear_relu(70, 90, 50, false); }}, small});
  out.push_back({{"f16", [] { return test::linear_relu(65, 40, 33, false, DType::f16); }}, small});
  out.push_back({{"softmax", [] { return test::softmax(8, 2048); }}, chip});
  out.push_back({{"add", [] { return test::add(100'000, DType::f32); }}, chip});
  return out;
}

std::vector<uint8_t> joined(const test::Bytes& buffers) {
  std::vector<uint8_t> out;
  for (const auto& buffer : buffers) out.insert(out.end(), buffer.begin(), buffer.end());
  return out;
}

void write(const std::string& folder, const std::string& arch) {
  std::string list;
  size_t number = 0;
  for (const Chosen& chosen : choose(arch)) {
    const Kernel kernel = chosen.sample.make();
    const Binary binary = compile(chosen.sample.make(), chosen.target);
    const test::Bytes buffers = test::make_buffers(kernel, kSeed);
    const std::string path = fmt::format("{}/{}", folder, number++);
    write_file_atomic(path + ".o", binary.code, FileSync::no);
    write_file_atomic(path + ".in", joined(buffers), FileSync::no);
    list += fmt::format("{} {} {} {} {} {}", binary.name, binary.groups[0].evaluate({}),
                        binary.group_size[0], binary.group_size[1], binary.group_size[2],
                        buffers.size());
    for (const auto& buffer : buffers) list += fmt::format(" {}", buffer.size());
    list += "\n";
  }
  write_file_atomic(folder + "/kernels.txt", list);
  fmt::print("wrote {} kernels for {}\n", number, arch);
}

test::Bytes run_on_driver(Device& device, const Binary& binary, test::Bytes contents) {
  std::vector<Buffer> buffers;
  Arguments arguments;
  for (const auto& bytes : contents) {
    buffers.push_back(device.alloc(bytes.size()));
    buffers.back().write(bytes);
    arguments.add(buffers.back());
  }
  CommandList list = device.make_list();
  list.dispatch(device.load(binary), arguments);
  device.submit(list).wait();
  for (size_t i = 0; i < contents.size(); ++i) contents[i] = buffers[i].read<uint8_t>();
  return contents;
}

/// Empty, or what is wrong with kernel `number`.
std::string check_one(Device& device, const Chosen& chosen, const std::string& path) {
  const Kernel kernel = chosen.sample.make();
  const test::Bytes buffers = test::make_buffers(kernel, kSeed);
  test::Bytes expected = buffers, theirs = buffers;
  lower::interpret_kernel(kernel, expected);
  const std::vector<uint8_t> bytes = read_file(path + ".out");
  if (bytes.size() != joined(buffers).size()) return "the result's size is wrong";
  size_t at = 0;
  for (auto& buffer : theirs)
    for (uint8_t& byte : buffer) byte = bytes[at++];
  if (const std::string what = test::difference(kernel, expected, theirs); !what.empty())
    return "against the interpreter: " + what;
  const Binary binary = compile(chosen.sample.make(), chosen.target);
  return run_on_driver(device, binary, buffers) == theirs ? "" : "our driver has other bytes";
}

int check(const std::string& folder, const std::string& arch) {
  const auto device = open_device("AMD:0");
  size_t number = 0, failed = 0;
  for (const Chosen& chosen : choose(arch)) {
    const std::string what = check_one(*device, chosen, fmt::format("{}/{}", folder, number++));
    if (!what.empty()) fmt::print("{}: {}\n", chosen.sample.name, what);
    failed += !what.empty();
  }
  fmt::print("{} of {} kernels correct\n", number - failed, number);
  if (failed == 0) fmt::print("all correct\n");
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string what = argc == 4 ? argv[1] : "";
  if (what == "check") return check(argv[2], argv[3]);
  if (what != "write") throw UsageError("code_objects write|check FOLDER ARCH");
  write(argv[2], argv[3]);
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "code_objects: {}\n", e.what());
  return 1;
}
