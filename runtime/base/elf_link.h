// SPDX-License-Identifier: MIT
// Layout and relocation of an object at a chosen address. Private: shared by the host loader and
// the tests, which link for machines other than the host. Executes nothing.
#pragma once

#include "runtime/base/elf.h"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace tiny {

/// Where everything goes, relative to a page-aligned base. Three runs of whole pages:
/// executable [0, text_end), read-only [text_end, constant_end), writable [constant_end, size).
struct ElfLayout {
  static constexpr uint64_t kNowhere = ~uint64_t{0};
  std::vector<uint64_t> sections;      ///< offset of each section; kNowhere if not loaded
  std::map<uint32_t, uint64_t> stubs;  ///< symbol → jump to its address
  std::map<uint32_t, uint64_t> got;    ///< symbol → 8 bytes holding its address
  uint64_t text_end_B = 0, constant_end_B = 0, size_B = 0;
  bool low = false;  ///< has 32-bit absolute addresses: the base must be below 2 GiB
};

/// Throws UsageError for what cannot be loaded: other machines, unsupported relocations (by name),
/// thread-local storage, constructors, more than 256 MiB.
ElfLayout lay_out(const ElfObject& object);

/// Copies and relocates into image (layout.size_B zeroed bytes) as if it were mapped at `base`.
void link(const ElfObject& object, const ElfLayout& layout, std::span<const HostSymbol> allowed,
          uint64_t base, std::span<uint8_t> image);

}  // namespace tiny
