// SPDX-License-Identifier: MIT
// Finds and opens the plugin, and turns its C interface into values and exceptions.
#include "compiler/llvm/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <rt_tiny/runtime/base/log.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <vector>

#include "compiler/llvm/plugin_abi.h"

namespace tiny {
namespace {

// With explicit vectors these few passes reach what O3 does (tile loops, measured); no vectoriser.
constexpr std::string_view kDefaultPasses =
    "always-inline,sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,gvn,simplifycfg";

struct Plugin {
  TinyLlvmCompile* compile = nullptr;
  TinyLlvmRelease* release = nullptr;
  std::string failure;  ///< why there is none
};

std::atomic<bool> g_opened{false};

/// Folder of the executable or shared library this code was linked into.
std::string own_folder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || !info.dli_fname) return "";
  std::error_code ignored;
  std::filesystem::path path = std::filesystem::canonical(info.dli_fname, ignored);
  if (path.empty()) path = std::filesystem::canonical("/proc/self/exe", ignored);
  return path.parent_path().string();
}

std::vector<std::string> candidate_paths() {
  if (const std::string& chosen = knobs().llvm_plugin; !chosen.empty()) return {chosen};
  const std::string file = TINY_LLVM_PLUGIN_FILE, folder = own_folder();
  std::vector<std::string> paths;
  if (!folder.empty()) paths = {folder + "/" + file, folder + "/../lib/" + file};
  for (const char* fixed : {TINY_LLVM_BUILD_DIR, TINY_LLVM_INSTALL_DIR})
    if (*fixed) paths.push_back(std::string(fixed) + "/" + file);
  return paths;
}

void* symbol(void* library, const char* name) {
  void* address = dlsym(library, name);
  if (!address) throw SystemError(fmt::format("[llvm] the plugin has no {}", name));
  return address;
}

Plugin bind(void* library, const std::string& path) {
  const auto abi = reinterpret_cast<TinyLlvmAbi*>(symbol(library, "tiny_llvm_abi"))();
  if (abi != TINY_LLVM_ABI)
    throw SystemError(fmt::format("[llvm] {} has interface {}, need {}", path, abi,
                                  static_cast<uint32_t>(TINY_LLVM_ABI)));
  const std::string version =
      reinterpret_cast<TinyLlvmVersion*>(symbol(library, "tiny_llvm_version"))();
  log_at(1, "llvm", "opened {} (LLVM {})", path, version);
  Plugin plugin;
  plugin.compile = reinterpret_cast<TinyLlvmCompile*>(symbol(library, "tiny_llvm_compile"));
  plugin.release = reinterpret_cast<TinyLlvmRelease*>(symbol(library, "tiny_llvm_release"));
  return plugin;
}

/// Never throws for an absent plugin: the reason is in `failure`.
Plugin open_plugin() {
  std::string reasons;
  for (const std::string& path : candidate_paths()) {
    // Never closed: LLVM keeps thread-local and static state.
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      const char* why = dlerror();
      reasons += fmt::format("\n  {}", why ? why : path.c_str());
      continue;
    }
    try {
      return bind(library, path);
    } catch (const SystemError& e) {
      reasons += fmt::format("\n  {}", e.what());
    }
  }
  Plugin none;
  none.failure = fmt::format("[llvm] no plugin, so nothing can be compiled: {}. Tried:{}",
                             *TINY_LLVM_VERSION
                                 ? "set TINY_LLVM_PLUGIN to its path"
                                 : "this build was configured without LLVM (install llvm-19-dev, "
                                   "configure again)",
                             reasons.empty() ? " nothing" : reasons);
  return none;
}

const Plugin& plugin() {
  static const Plugin* const opened = [] {
    Plugin* p = new Plugin(open_plugin());
    g_opened = p->failure.empty();
    return p;
  }();
  return *opened;
}

const Plugin& plugin_or_throw() {
  const Plugin& p = plugin();
  if (!p.failure.empty()) throw SystemError(p.failure);
  return p;
}

/// Frees what the plugin returned, also when copying it throws.
struct ResultOwner {
  const Plugin& plugin;
  TinyLlvmResult result{};
  explicit ResultOwner(const Plugin& p) : plugin(p) {}
  ~ResultOwner() { plugin.release(&result); }
  ResultOwner(const ResultOwner&) = delete;
  ResultOwner& operator=(const ResultOwner&) = delete;
};

}  // namespace

std::string_view llvm_default_passes() { return kDefaultPasses; }

const std::string& llvm_version_key() {
  static const std::string* const key =
      new std::string(fmt::format("llvm {} interface {} passes {}", TINY_LLVM_VERSION,
                                  static_cast<uint32_t>(TINY_LLVM_ABI), kDefaultPasses));
  return *key;
}

bool llvm_available(std::string* why) {
  const Plugin& p = plugin();
  if (why) *why = p.failure;
  return p.failure.empty();
}

bool llvm_plugin_opened() { return g_opened; }

LlvmOutput compile_llvm_ir(std::string_view text, const Target& target, bool want_asm) {
  return compile_llvm_ir(text, target, want_asm, std::string(kDefaultPasses));
}

LlvmOutput compile_llvm_ir(std::string_view text, const Target& target, bool want_asm,
                           const std::string& passes) {
  const std::string terminated(text);  // LLVM's lexer wants a zero after the last byte
  ResultOwner owner(plugin_or_throw());
  const TinyLlvmJob job{TINY_LLVM_ABI,           want_asm ? 1u : 0u,    terminated.c_str(),
                        terminated.size(),       target.triple.c_str(), target.cpu.c_str(),
                        target.features.c_str(), passes.c_str()};
  const TinyLlvmResult& r = owner.result;
  if (owner.plugin.compile(&job, &owner.result) != 0)
    throw UsageError(fmt::format("[llvm] {}", r.error ? r.error : "unknown error"));
  return {std::vector<uint8_t>(r.object, r.object + r.object_B), r.assembly ? r.assembly : ""};
}

}  // namespace tiny
