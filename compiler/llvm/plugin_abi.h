// SPDX-License-Identifier: MIT
// The C interface between the library and the LLVM plugin, the only thing the two share.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Raised whenever a struct or a meaning below changes; both sides check it.
enum { TINY_LLVM_ABI = 1 };

typedef struct TinyLlvmJob {
  uint32_t abi;       ///< TINY_LLVM_ABI
  uint32_t want_asm;  ///< nonzero: also fill `assembly`
  const char* text;   ///< IR, text_B bytes, followed by a zero
  size_t text_B;
  const char* triple;
  const char* cpu;       ///< "native": this host's name and features
  const char* features;  ///< "+avx2,-fma"; pieces without a sign are ignored
  const char* passes;    ///< pipeline in opt's syntax; empty runs none
} TinyLlvmJob;

/// Memory belongs to the plugin until tiny_llvm_release.
typedef struct TinyLlvmResult {
  uint8_t* object;  ///< ELF relocatable object; PTX text for NVPTX triples
  size_t object_B;
  char* assembly;  ///< zero-terminated, or null
  char* error;     ///< zero-terminated, or null on success
} TinyLlvmResult;

/// Compiles one module. Safe from several threads. Returns 0 on success, else `error` is set.
typedef int TinyLlvmCompile(const TinyLlvmJob* job, TinyLlvmResult* result);
typedef void TinyLlvmRelease(TinyLlvmResult* result);
/// "19.1.7", of the LLVM that was loaded.
typedef const char* TinyLlvmVersion(void);
typedef uint32_t TinyLlvmAbi(void);

#ifdef __cplusplus
}
#endif
