// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/base/host_cpu.h>

#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/file.h>
#include <rt_tiny/runtime/base/hash.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace tiny {
namespace {

/// The first "name : value" line of /proc/cpuinfo; empty if there is none.
std::string_view cpuinfo_field(std::string_view text, std::string_view name) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const size_t colon = line.find(':');
    if (line.starts_with(name) && colon != std::string_view::npos &&
        line.substr(name.size(), colon - name.size()).find_first_not_of("\t ") ==
            std::string_view::npos)
      return line.substr(std::min(colon + 2, line.size()));
    at = end + 1;
  }
  return {};
}

/// cpuid sees the instruction sets even where /proc is absent.
void hash_cpuid([[maybe_unused]] Hasher& hasher) {
#if defined(__x86_64__)
  for (auto [leaf, subleaf] : {std::pair{1u, 0u}, {7u, 0u}, {7u, 1u}, {0x80000001u, 0u}}) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    __get_cpuid_count(leaf, subleaf, &a, &b, &c, &d);
    if (leaf == 1) b = 0, c &= ~(1u << 27);  // APIC id and OSXSAVE vary from call to call
    hasher.add(a).add(b).add(c).add(d);
  }
#endif
}

std::string make_cpu_key() {
  std::string text;
  try {
    const std::vector<uint8_t> bytes = read_file("/proc/cpuinfo");
    text.assign(bytes.begin(), bytes.end());
  } catch (const SystemError&) {  // no /proc: cpuid alone
  }
  Hasher hasher;
  for (std::string_view field : {"vendor_id", "cpu family", "model", "stepping", "flags",
                                 "CPU implementer", "CPU variant", "CPU part", "Features"})
    hasher.add(cpuinfo_field(text, field));
  hash_cpuid(hasher);
  const std::string_view model = cpuinfo_field(text, "model name");
  return fmt::format("{}#{}", model.empty() ? "host" : model, hasher.digest().hex());
}

}  // namespace

std::string host_arch() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
#error "host code is generated for x86_64 and aarch64 only"
#endif
}

std::string host_triple() { return host_arch() + "-unknown-linux-gnu"; }

const std::string& host_cpu_key() {
  static const std::string* const key = new std::string(make_cpu_key());
  return *key;
}

uint32_t host_vector_B() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") ? 64 : __builtin_cpu_supports("avx2") ? 32 : 16;
#else
  return 16;
#endif
}

uint32_t host_vector_registers() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") ? 32 : 16;
#else
  return 32;
#endif
}

bool host_has_fma() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma");
#else
  return true;
#endif
}

}  // namespace tiny
