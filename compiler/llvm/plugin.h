// SPDX-License-Identifier: MIT
// IR text to machine code through the LLVM plugin, which is opened at the first compilation only.
#pragma once

#include <rt_tiny/runtime/base/target.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tiny {

struct LlvmOutput {
  std::vector<uint8_t> object;  ///< ELF relocatable object; PTX text for NVPTX
  std::string assembly;         ///< empty unless asked for
};

/// Compiles one module for target.triple, target.cpu and target.features. Thread-safe. Throws
/// UsageError for bad IR (with line and column) and SystemError if there is no plugin.
LlvmOutput compile_llvm_ir(std::string_view text, const Target& target, bool want_asm = false);

/// Same with another pass pipeline, in the syntax of opt; empty runs no passes before codegen.
LlvmOutput compile_llvm_ir(std::string_view text, const Target& target, bool want_asm,
                           const std::string& passes);

/// The pipeline compile_llvm_ir runs by default.
std::string_view llvm_default_passes();

/// Part of each compile-cache key: LLVM's version as configured, the interface's, and the default
/// pipeline. Does not open the plugin.
const std::string& llvm_version_key();

/// Can IR be compiled here? Opens the plugin; the reason if not goes to *why.
bool llvm_available(std::string* why = nullptr);

/// Has anything opened the plugin in this process? A warm start must not.
bool llvm_plugin_opened();

}  // namespace tiny
