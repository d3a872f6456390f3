// SPDX-License-Identifier: MIT
// A program for the HIP runtime, compiled against its headers by tools/rocm_clients: launches the
// kernels that code_objects wrote, linked as FOLDER/N.hsaco, and writes what their buffers hold
// then to FOLDER/N.out. Knows nothing of the compiler.
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace {

void check(hipError_t error, const std::string& what) {
  if (error == hipSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what.c_str(), hipGetErrorString(error));
  std::exit(1);
}

struct Kernel {
  std::string name;
  unsigned groups = 0, group[3] = {};
  std::vector<size_t> sizes;
};

Kernel parse(const std::string& line) {
  Kernel k;
  size_t count = 0;
  std::istringstream in(line);
  in >> k.name >> k.groups >> k.group[0] >> k.group[1] >> k.group[2] >> count;
  k.sizes.resize(count);
  for (size_t& size : k.sizes) in >> size;
  if (!in) std::exit(2);
  return k;
}

std::vector<char> read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void run(const Kernel& k, const std::string& path) {
  hipModule_t module;
  hipFunction_t function;
  check(hipModuleLoad(&module, (path + ".hsaco").c_str()), "hipModuleLoad " + path);
  check(hipModuleGetFunction(&function, module, k.name.c_str()), "hipModuleGetFunction " + k.name);
  const std::vector<char> in = read_all(path + ".in");
  std::vector<void*> buffers(k.sizes.size()), arguments;
  size_t at = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    check(hipMalloc(&buffers[i], k.sizes[i]), "hipMalloc");
    check(hipMemcpy(buffers[i], in.data() + at, k.sizes[i], hipMemcpyHostToDevice), "copy to");
    at += k.sizes[i];
    arguments.push_back(&buffers[i]);
  }
  check(hipModuleLaunchKernel(function, k.groups, 1, 1, k.group[0], k.group[1], k.group[2], 0,
                              nullptr, arguments.data(), nullptr),
        "hipModuleLaunchKernel " + k.name);
  check(hipDeviceSynchronize(), "hipDeviceSynchronize after " + k.name);
  std::vector<char> out(at);
  at = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    check(hipMemcpy(out.data() + at, buffers[i], k.sizes[i], hipMemcpyDeviceToHost), "copy from");
    check(hipFree(buffers[i]), "hipFree");
    at += k.sizes[i];
  }
  check(hipModuleUnload(module), "hipModuleUnload");
  std::ofstream(path + ".out", std::ios::binary).write(out.data(), std::streamsize(out.size()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string folder = argv[1];
  std::ifstream list(folder + "/kernels.txt");
  unsigned count = 0;
  for (std::string line; std::getline(list, line); ++count)
    run(parse(line), folder + "/" + std::to_string(count));
  std::printf("launched %u kernels\n", count);
  return count > 0 ? 0 : 1;
}
