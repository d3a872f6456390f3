// SPDX-License-Identifier: MIT
// Relocation formulas: LLVM, "User Guide for AMDGPU Backend", Relocation Records; S symbol, A
// addend, P place, G its GOT slot. Numbers: amd_kd tables of LLVM 19.
#include "drivers/amd/code_object.h"

#include <rt_tiny/runtime/base/error.h>

#include "drivers/amd/registers.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tiny::amd {
namespace {

constexpr uint16_t kMachine = 224;  // EM_AMDGPU
constexpr uint8_t kOsAbi = 64;      // ELFOSABI_AMDGPU_HSA
constexpr uint64_t kCodeAlign_B = 256;
/// Instruction fetch runs ahead of the last instruction.
constexpr uint64_t kPrefetch_B = 512;
constexpr uint64_t kMaxImage_B = 256 << 20;
constexpr uint32_t kMaxLocal_B = 64 << 10, kLocalGranule_B = 512;

enum class Form : uint8_t { none, lo32, hi32, word64 };
enum class Base : uint8_t { absolute, relative, got, image };
struct RelocationRow {
  uint32_t type;
  const char* name;
  Form form;
  Base base;
};
constexpr RelocationRow kRelocations[] = {
    {0, "R_AMDGPU_NONE", Form::none, Base::absolute},
    {1, "R_AMDGPU_ABS32_LO", Form::lo32, Base::absolute},
    {2, "R_AMDGPU_ABS32_HI", Form::hi32, Base::absolute},
    {3, "R_AMDGPU_ABS64", Form::word64, Base::absolute},
    {4, "R_AMDGPU_REL32", Form::lo32, Base::relative},
    {5, "R_AMDGPU_REL64", Form::word64, Base::relative},
    {7, "R_AMDGPU_GOTPCREL", Form::lo32, Base::got},
    {8, "R_AMDGPU_GOTPCREL32_LO", Form::lo32, Base::got},
    {9, "R_AMDGPU_GOTPCREL32_HI", Form::hi32, Base::got},
    {10, "R_AMDGPU_REL32_LO", Form::lo32, Base::relative},
    {11, "R_AMDGPU_REL32_HI", Form::hi32, Base::relative},
    {13, "R_AMDGPU_RELATIVE64", Form::word64, Base::image},
};

const RelocationRow* row_of(uint32_t type) {
  for (const RelocationRow& row : kRelocations)
    if (row.type == type) return &row;
  return nullptr;
}

/// kernel_code_properties, and why we have nothing to put there.
enum Property : uint16_t {
  kPrivateSegmentBuffer = 1 << 0,
  kDispatchPtr = 1 << 1,
  kQueuePtr = 1 << 2,
  kKernargSegmentPtr = 1 << 3,
  kDispatchId = 1 << 4,
  kFlatScratchInit = 1 << 5,
  kPrivateSegmentSize = 1 << 6,
  kWavefrontSize32 = 1 << 10,
  kDynamicStack = 1 << 11,
};
struct RefusedProperty {
  uint16_t bit;
  const char* name;
  const char* why;
};
constexpr RefusedProperty kRefused[] = {
    {kDispatchPtr, "ENABLE_SGPR_DISPATCH_PTR",
     "there is no dispatch packet; compile with \"amdgpu-no-dispatch-ptr\""},
    {kQueuePtr, "ENABLE_SGPR_QUEUE_PTR",
     "there is no HSA queue; compile with \"amdgpu-no-queue-ptr\""},
    {kDispatchId, "ENABLE_SGPR_DISPATCH_ID",
     "dispatches have no ids; compile with \"amdgpu-no-dispatch-id\""},
    {kDynamicStack, "USES_DYNAMIC_STACK", "its stack has no bound: recursion or unknown calls"},
};
constexpr uint16_t kKnownProperties = kPrivateSegmentBuffer | kKernargSegmentPtr |
                                      kFlatScratchInit | kPrivateSegmentSize | kWavefrontSize32;

std::string_view arch_of_mach(uint32_t mach) {
  for (const Generation& g : generations())
    if (g.elf_mach == mach) return g.arch;
  return "another chip";
}

bool is_loaded(const ElfSection& s) { return s.type != SHT_NULL && s.flags & SHF_ALLOC; }

uint32_t bits(uint32_t word, uint32_t lo, uint32_t width) {
  return word >> lo & ((1u << width) - 1);
}

}  // namespace

template <class... Args>
void CodeObject::reject(const char* format, Args&&... args) const {
  throw UsageError(fmt::format("[load] {}: {}", name_,
                               fmt::format(fmt::runtime(format), std::forward<Args>(args)...)));
}

CodeObject::CodeObject(const Binary& binary, const Generation& generation)
    : name_(binary.name), generation_(generation), local_B_(binary.local_B), object_(binary.code) {
  os_abi_ = binary.code[EI_OSABI];
  abi_version_ = binary.code[EI_ABIVERSION];
  check_header();
  lay_out();
}

void CodeObject::check_header() const {
  if (object_.machine() != kMachine)
    reject("the code is for ELF machine {}, not for AMDGPU", object_.machine());
  if (os_abi_ != kOsAbi) reject("ELF OS ABI {}, not amdhsa", os_abi_);
  // 2 and 3 are code object versions 4 and 5, which differ in hidden arguments only; 4 is
  // version 6.
  if (abi_version_ < 2 || abi_version_ > 4)
    reject("ELF ABI version {}: no code object of version 4 to 6", abi_version_);
  const uint32_t mach = object_.flags() & 0xff;
  if (mach != generation_.elf_mach)
    reject("the code is for {} (e_flags {:#x}), the device is {}", arch_of_mach(mach),
           object_.flags(), generation_.arch);
}

void CodeObject::lay_out() {
  const auto& sections = object_.sections();
  sections_.assign(sections.size(), kNowhere);
  uint64_t end = 0;
  auto reserve = [&](uint64_t bytes, uint64_t align_B) {
    const uint64_t at = align_up(end, align_B);
    if (bytes > kMaxImage_B || at > kMaxImage_B - bytes)
      reject("the code needs more than {} MiB", kMaxImage_B >> 20);
    end = at + bytes;
    return at;
  };
  for (const bool code : {true, false}) {
    for (size_t i = 0; i < sections.size(); ++i) {
      const ElfSection& s = sections[i];
      if (!is_loaded(s) || (s.flags & SHF_EXECINSTR ? 1 : 0) != code) continue;
      if (s.flags & SHF_TLS) reject("section {}: thread-local storage", s.name);
      sections_[i] = reserve(s.size_B, code ? std::max(s.align_B, kCodeAlign_B) : s.align_B);
    }
    if (code) reserve(kPrefetch_B, 1);
  }
  for (const ElfRelocation& r : object_.relocations()) {
    if (sections_[r.section] == kNowhere) continue;
    const RelocationRow* row = row_of(r.type);
    if (!row) reject("unsupported relocation {} of AMDGPU", r.type);
    if (row->base == Base::got) got_[r.symbol] = 0;
  }
  for (auto& [symbol, at] : got_) at = reserve(8, 8);
  size_B_ = align_up(std::max<uint64_t>(end, 1), kPage_B);

  const ElfSymbol* descriptor = object_.find_symbol(name_ + ".kd");
  if (!descriptor) reject("the object has no kernel of that name (no symbol {}.kd)", name_);
  if (descriptor->section == kElfAbsolute || sections_[descriptor->section] == kNowhere)
    reject("{}.kd lies in no loaded section", name_);
  const ElfSection& home = sections[descriptor->section];
  if (home.type == SHT_NOBITS || home.size_B - descriptor->value < sizeof(kernel_descriptor_t))
    reject("{}.kd is cut short", name_);
  descriptor_ = sections_[descriptor->section] + descriptor->value;
  if (descriptor_ % 64) reject("{}.kd is not 64-aligned", name_);
}

uint64_t CodeObject::symbol_address(uint32_t index, uint64_t base) const {
  if (index == 0) return 0;  // the null symbol: the addend alone
  const ElfSymbol& symbol = object_.symbols()[index];
  if (symbol.section == kElfUndefined)
    reject("undefined symbol \"{}\": there are no device libraries to link with", symbol.name);
  if (symbol.section == kElfAbsolute) return symbol.value;
  if (sections_[symbol.section] == kNowhere)
    reject("symbol {} lies in an unloaded section", symbol.name);
  return base + sections_[symbol.section] + symbol.value;
}

void CodeObject::relocate(const ElfRelocation& r, std::span<uint8_t> image, uint64_t base) const {
  const uint64_t section = sections_[r.section];
  if (section == kNowhere) return;
  const RelocationRow& row = *row_of(r.type);
  if (row.form == Form::none) return;
  const uint64_t width_B = row.form == Form::word64 ? 8 : 4;
  const uint64_t limit = object_.sections()[r.section].size_B;
  if (r.offset_B > limit || width_B > limit - r.offset_B)
    reject("{} patches bytes {}+{} of {}", row.name, r.offset_B, width_B, limit);
  const uint64_t at = section + r.offset_B, place = base + at;
  uint64_t value = static_cast<uint64_t>(r.addend);
  if (row.base == Base::image)
    value += base;
  else if (row.base == Base::got)
    value += base + got_.at(r.symbol) - place;
  else
    value += symbol_address(r.symbol, base) - (row.base == Base::relative ? place : 0);
  if (row.form == Form::hi32) value >>= 32;
  std::memcpy(image.data() + at, &value, width_B);
}

std::vector<uint8_t> CodeObject::link(uint64_t base) const {
  std::vector<uint8_t> image(size_B_);
  for (size_t i = 0; i < sections_.size(); ++i) {
    const auto bytes = object_.contents(object_.sections()[i]);
    if (sections_[i] != kNowhere && !bytes.empty())
      std::memcpy(image.data() + sections_[i], bytes.data(), bytes.size());
  }
  for (const auto& [symbol, at] : got_) {
    const uint64_t address = symbol_address(symbol, base);
    std::memcpy(image.data() + at, &address, sizeof address);
  }
  for (const ElfRelocation& r : object_.relocations()) relocate(r, image, base);
  return image;
}

KernelRegisters CodeObject::registers(std::span<const uint8_t> image, uint64_t base) const {
  kernel_descriptor_t kd;
  std::memcpy(&kd, image.data() + descriptor_, sizeof kd);
  const uint16_t properties = kd.kernel_code_properties;
  for (const RefusedProperty& refused : kRefused)
    if (properties & refused.bit) reject("it asks for {}: {}", refused.name, refused.why);
  if (properties & ~kKnownProperties)
    reject("unknown kernel code properties {:#x}", properties & ~kKnownProperties);
  if (kd.kernarg_preload)
    reject("it asks for preloaded kernel arguments, which {} has not", generation_.arch);
  if (generation_.architected_scratch && properties & (kPrivateSegmentBuffer | kFlatScratchInit))
    reject("it asks for scratch in SGPRs ({:#x}), which {} has not", properties, generation_.arch);

  KernelRegisters out;
  const uint64_t entry = descriptor_ + static_cast<uint64_t>(kd.kernel_code_entry_byte_offset);
  if (entry % kCodeAlign_B) reject("its entry {:#x} is not 256-aligned", entry);
  const auto in_code = [&](size_t i) {
    const ElfSection& s = object_.sections()[i];
    return sections_[i] != kNowhere && s.flags & SHF_EXECINSTR && entry >= sections_[i] &&
           entry - sections_[i] < s.size_B;
  };
  size_t code = 0;
  while (code < sections_.size() && !in_code(code)) ++code;
  if (code == sections_.size()) reject("its entry {:#x} lies in no code", entry);
  out.entry = base + entry;
  out.wave32 = properties & kWavefrontSize32;
  out.user.private_segment_buffer = properties & kPrivateSegmentBuffer;
  out.user.kernarg_ptr = properties & kKernargSegmentPtr;
  out.user.flat_scratch_init = properties & kFlatScratchInit;
  out.user.private_segment_size = properties & kPrivateSegmentSize;
  out.scratch_B = kd.private_segment_fixed_size;
  out.kernarg_B = kd.kernarg_size;

  using namespace regs;
  const uint32_t sgprs = bits(kd.compute_pgm_rsrc2, COMPUTE_PGM_RSRC2__USER_SGPR_lo,
                              COMPUTE_PGM_RSRC2__USER_SGPR_width);
  if (out.user.count() > sgprs || sgprs > 16)
    reject("its descriptor counts {} user SGPRs and names {}", sgprs, out.user.count());
  const uint64_t local_B = std::max<uint64_t>(kd.group_segment_fixed_size, local_B_);
  if (local_B > kMaxLocal_B)
    reject("a group needs {} B of local memory, the device has {}", local_B, kMaxLocal_B);
  const auto local = static_cast<uint32_t>((local_B + kLocalGranule_B - 1) / kLocalGranule_B);
  if (bits(kd.compute_pgm_rsrc2, COMPUTE_PGM_RSRC2__LDS_SIZE_lo, COMPUTE_PGM_RSRC2__LDS_SIZE_width))
    reject("its descriptor sets LDS_SIZE, which is the driver's");
  if (out.scratch_B && !bits(kd.compute_pgm_rsrc2, COMPUTE_PGM_RSRC2__SCRATCH_EN_lo, 1))
    reject("its descriptor has {} B of scratch but does not enable it", out.scratch_B);
  out.rsrc1 = kd.compute_pgm_rsrc1;
  if (generation_.privileged_waves) out.rsrc1 |= 1u << COMPUTE_PGM_RSRC1__PRIV_lo;
  out.rsrc2 = kd.compute_pgm_rsrc2 | local << COMPUTE_PGM_RSRC2__LDS_SIZE_lo;
  out.rsrc3 = kd.compute_pgm_rsrc3;
  return out;
}

}  // namespace tiny::amd
