// SPDX-License-Identifier: MIT
// The loader: AMDGPU objects as LLVM writes them (ELF, relocatable), to an image for a given
// address and the registers of one kernel. Refuses by name what the driver cannot give a kernel.
#pragma once

#include <rt_tiny/runtime/base/binary.h>

#include "drivers/amd/generation.h"
#include "drivers/amd/kernel_code.h"
#include "runtime/base/elf.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tiny::amd {

/// The 64 bytes at NAME.kd (LLVM: "Code Object V3 Kernel Descriptor").
struct kernel_descriptor_t {
  uint32_t group_segment_fixed_size;
  uint32_t private_segment_fixed_size;
  uint32_t kernarg_size;
  uint8_t reserved0[4];
  int64_t kernel_code_entry_byte_offset;
  uint8_t reserved1[20];
  uint32_t compute_pgm_rsrc3;
  uint32_t compute_pgm_rsrc1;
  uint32_t compute_pgm_rsrc2;
  uint16_t kernel_code_properties;
  uint16_t kernarg_preload;
  uint8_t reserved3[4];
};
static_assert(sizeof(kernel_descriptor_t) == 64);

class CodeObject {
 public:
  /// Throws UsageError ("[load] …") for what this chip or driver cannot run.
  CodeObject(const Binary&, const Generation&);

  uint64_t size_B() const { return size_B_; }
  /// The bytes for a page-aligned address.
  std::vector<uint8_t> link(uint64_t base) const;
  /// Of an image made by `link` for `base`.
  KernelRegisters registers(std::span<const uint8_t> image, uint64_t base) const;

 private:
  static constexpr uint64_t kNowhere = ~uint64_t{0};
  void check_header() const;
  void lay_out();
  uint64_t symbol_address(uint32_t index, uint64_t base) const;
  void relocate(const ElfRelocation&, std::span<uint8_t> image, uint64_t base) const;
  template <class... Args>
  [[noreturn]] void reject(const char* format, Args&&... args) const;

  std::string name_;
  const Generation& generation_;
  uint64_t local_B_;
  uint8_t os_abi_ = 0, abi_version_ = 0;
  ElfObject object_;
  std::vector<uint64_t> sections_;        ///< offset of each in the image
  std::map<uint32_t, uint64_t> got_;      ///< symbol → 8 bytes holding its address
  uint64_t size_B_ = 0, descriptor_ = 0;  ///< offset of the kernel descriptor
};

}  // namespace tiny::amd
