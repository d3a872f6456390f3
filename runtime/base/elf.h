// SPDX-License-Identifier: MIT
// ELF64 little-endian relocatable objects: a parser for any machine, and a loader for host code.
// The parser trusts nothing in the file: hostile input is a UsageError.
#pragma once

#include <rt_tiny/runtime/base/api.h>
#include <rt_tiny/runtime/base/file.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tiny {

/// Names are views into the object's bytes.
struct TINY_API ElfSection {
  std::string_view name;
  uint32_t type = 0, link = 0, info = 0;
  uint64_t flags = 0, offset_B = 0, size_B = 0, align_B = 1, entry_B = 0;
};

struct TINY_API ElfSymbol {
  std::string_view name;
  uint32_t section = 0;  ///< index into sections(); see kElfUndefined and kElfAbsolute
  uint64_t value = 0, size_B = 0;
  uint8_t binding = 0, type = 0;
};
inline constexpr uint32_t kElfUndefined = 0, kElfAbsolute = 0xfff1;

struct TINY_API ElfRelocation {
  uint32_t section = 0;  ///< where the patched bytes are
  uint32_t type = 0, symbol = 0;
  uint64_t offset_B = 0;
  int64_t addend = 0;
};

/// A parsed and validated object: every index and range in it is in bounds. Move-only.
class TINY_API ElfObject {
 public:
  /// Throws UsageError ("[elf] …").
  explicit ElfObject(std::vector<uint8_t> bytes);
  ElfObject(ElfObject&&) noexcept = default;
  ElfObject& operator=(ElfObject&&) noexcept = default;

  uint16_t machine() const { return machine_; }  ///< e_machine: 62 x86-64, 183 AArch64, 224 AMDGPU
  uint32_t flags() const { return flags_; }      ///< e_flags
  const std::vector<ElfSection>& sections() const { return sections_; }
  const std::vector<ElfSymbol>& symbols() const { return symbols_; }
  const std::vector<ElfRelocation>& relocations() const { return relocations_; }
  /// The section's bytes in the file; empty for .bss.
  std::span<const uint8_t> contents(const ElfSection& section) const;
  /// nullptr if there is none of that name.
  const ElfSection* find_section(std::string_view name) const;
  const ElfSymbol* find_symbol(std::string_view name) const;

 private:
  friend struct ElfParser;
  std::vector<uint8_t> bytes_;
  uint16_t machine_ = 0;
  uint32_t flags_ = 0;
  std::vector<ElfSection> sections_;
  std::vector<ElfSymbol> symbols_;
  std::vector<ElfRelocation> relocations_;
};

/// A function that loaded code may call.
struct TINY_API HostSymbol {
  std::string_view name;
  const void* address;
};
/// What generated code may call: libm by its C names (float and double), memcpy, memset, memmove,
/// and the compiler's conversions of f16 and bf16. Sorted by name.
TINY_API std::span<const HostSymbol> host_math_symbols();

/// Host machine code ready to run: code pages are executable, none is writable and executable.
class TINY_API HostCode {
 public:
  HostCode() = default;
  /// Address of a defined symbol; throws UsageError if there is none.
  const void* symbol(std::string_view name) const;
  size_t size_B() const { return mapping_.size_B(); }

 private:
  friend HostCode load_host_code(const ElfObject&, std::span<const HostSymbol>);
  Mapping mapping_;
  std::map<std::string, size_t, std::less<>> symbols_;  ///< offsets into the mapping
};

/// Lays out, relocates and protects an object of this machine. Undefined symbols resolve through
/// `allowed` alone. Throws UsageError for a foreign machine, an unsupported relocation (by name)
/// or an unresolved symbol.
TINY_API HostCode load_host_code(const ElfObject& object,
                                 std::span<const HostSymbol> allowed = host_math_symbols());

}  // namespace tiny
