// SPDX-License-Identifier: MIT
// Layout, relocation and loading of host code. Relocation formulas: System V ABI AMD64 supplement
// §4.4 and ELF for the Arm 64-bit Architecture §5.7; S symbol, A addend, P place, G its GOT slot.
#include "runtime/base/elf_link.h"

#include <elf.h>
#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tiny {
namespace {

constexpr uint64_t kMaxImage_B = 256 << 20;
constexpr uint64_t kStub_B = 16;
constexpr uint64_t kPage_B = 1 << 16;  // the largest page of either machine

template <class... Args>
[[noreturn]] void reject(fmt::format_string<Args...> format, Args&&... args) {
  throw UsageError("[elf] " + fmt::format(format, std::forward<Args>(args)...));
}

// ---- the relocations we know -----------------------------------------------------------------

enum class Form : uint8_t {
  abs64,
  abs32,
  abs32_signed,
  rel32,
  rel64,
  branch26,
  adr21,
  page21,
  low12_add,
  low12_load
};
enum Via : uint8_t { direct, stub, got };  // what S becomes: an undefined symbol's stub, its slot

struct RelocationRow {
  uint32_t type;
  const char* name;
  Form form;
  Via via;
  uint8_t scale = 0;  // low12_load: log2 of the access size
};

constexpr RelocationRow kX86[] = {
    {R_X86_64_64, "R_X86_64_64", Form::abs64, direct},
    {R_X86_64_PC32, "R_X86_64_PC32", Form::rel32, stub},
    {R_X86_64_PLT32, "R_X86_64_PLT32", Form::rel32, stub},
    {R_X86_64_32, "R_X86_64_32", Form::abs32, stub},
    {R_X86_64_32S, "R_X86_64_32S", Form::abs32_signed, stub},
    {R_X86_64_PC64, "R_X86_64_PC64", Form::rel64, direct},
    {R_X86_64_GOTPCREL, "R_X86_64_GOTPCREL", Form::rel32, got},
    {R_X86_64_GOTPCRELX, "R_X86_64_GOTPCRELX", Form::rel32, got},
    {R_X86_64_REX_GOTPCRELX, "R_X86_64_REX_GOTPCRELX", Form::rel32, got},
};
constexpr RelocationRow kArm[] = {
    {R_AARCH64_ABS64, "R_AARCH64_ABS64", Form::abs64, direct},
    {R_AARCH64_PREL64, "R_AARCH64_PREL64", Form::rel64, direct},
    {R_AARCH64_PREL32, "R_AARCH64_PREL32", Form::rel32, stub},
    {R_AARCH64_CALL26, "R_AARCH64_CALL26", Form::branch26, stub},
    {R_AARCH64_JUMP26, "R_AARCH64_JUMP26", Form::branch26, stub},
    {R_AARCH64_ADR_PREL_LO21, "R_AARCH64_ADR_PREL_LO21", Form::adr21, stub},
    {R_AARCH64_ADR_PREL_PG_HI21, "R_AARCH64_ADR_PREL_PG_HI21", Form::page21, stub},
    {R_AARCH64_ADD_ABS_LO12_NC, "R_AARCH64_ADD_ABS_LO12_NC", Form::low12_add, stub},
    {R_AARCH64_LDST8_ABS_LO12_NC, "R_AARCH64_LDST8_ABS_LO12_NC", Form::low12_load, stub, 0},
    {R_AARCH64_LDST16_ABS_LO12_NC, "R_AARCH64_LDST16_ABS_LO12_NC", Form::low12_load, stub, 1},
    {R_AARCH64_LDST32_ABS_LO12_NC, "R_AARCH64_LDST32_ABS_LO12_NC", Form::low12_load, stub, 2},
    {R_AARCH64_LDST64_ABS_LO12_NC, "R_AARCH64_LDST64_ABS_LO12_NC", Form::low12_load, stub, 3},
    {R_AARCH64_LDST128_ABS_LO12_NC, "R_AARCH64_LDST128_ABS_LO12_NC", Form::low12_load, stub, 4},
    {R_AARCH64_ADR_GOT_PAGE, "R_AARCH64_ADR_GOT_PAGE", Form::page21, got},
    {R_AARCH64_LD64_GOT_LO12_NC, "R_AARCH64_LD64_GOT_LO12_NC", Form::low12_load, got, 3},
};

/// Names of relocations LLVM could emit and we refuse, so that the message says more than a number.
constexpr std::pair<uint32_t, const char*> kX86Refused[] = {
    {R_X86_64_GOTOFF64, "R_X86_64_GOTOFF64"},
    {R_X86_64_GOTPC32, "R_X86_64_GOTPC32"},
    {R_X86_64_GOTPC64, "R_X86_64_GOTPC64"},
    {R_X86_64_GOT64, "R_X86_64_GOT64"},
    {R_X86_64_PLTOFF64, "R_X86_64_PLTOFF64"},
    {R_X86_64_TPOFF32, "R_X86_64_TPOFF32"},
    {R_X86_64_GOTTPOFF, "R_X86_64_GOTTPOFF"},
    {R_X86_64_TLSGD, "R_X86_64_TLSGD"},
    {R_X86_64_16, "R_X86_64_16"},
    {R_X86_64_8, "R_X86_64_8"},
};

std::span<const RelocationRow> rows_of(uint16_t machine) {
  if (machine == EM_X86_64) return kX86;
  if (machine == EM_AARCH64) return kArm;
  reject("machine {} is not one whose code this process can link", machine);
}

const RelocationRow& row_of(uint16_t machine, uint32_t type) {
  for (const RelocationRow& row : rows_of(machine))
    if (row.type == type) return row;
  if (machine == EM_X86_64)
    for (auto [refused, name] : kX86Refused)
      if (refused == type) reject("unsupported relocation {}", name);
  reject("unsupported relocation {} of machine {}", type, machine);
}

// ---- layout ----------------------------------------------------------------------------------

enum class Run : uint8_t { none, text, constant, writable };

Run run_of(const ElfSection& s) {
  if (!(s.flags & SHF_ALLOC) || s.type == SHT_NULL) return Run::none;
  if (s.flags & SHF_TLS) reject("section {}: thread-local storage", s.name);
  if (s.type == SHT_INIT_ARRAY || s.type == SHT_FINI_ARRAY || s.type == SHT_PREINIT_ARRAY)
    reject("section {}: constructors and destructors", s.name);
  if ((s.flags & SHF_EXECINSTR) && (s.flags & SHF_WRITE))
    reject("section {}: writable code", s.name);
  if (s.flags & SHF_EXECINSTR) return Run::text;
  const bool constant_after_relocation = s.name.starts_with(".data.rel.ro");
  return (s.flags & SHF_WRITE) && !constant_after_relocation ? Run::writable : Run::constant;
}

/// Reserves size bytes at the next aligned offset. The caps keep the sum from overflowing.
uint64_t reserve(uint64_t& end, uint64_t size_B, uint64_t align_B) {
  const uint64_t at = (end + align_B - 1) & ~(align_B - 1);
  if (size_B > kMaxImage_B || at > kMaxImage_B - size_B)
    reject("the code needs more than {} MiB", kMaxImage_B >> 20);
  end = at + size_B;
  return at;
}

void place_sections(const ElfObject& object, Run run, ElfLayout& layout, uint64_t& end) {
  for (size_t i = 0; i < object.sections().size(); ++i) {
    const ElfSection& section = object.sections()[i];
    if (run_of(section) == run) layout.sections[i] = reserve(end, section.size_B, section.align_B);
  }
}

/// Notes which symbols need a stub or a GOT slot; offsets come later.
void collect_indirections(const ElfObject& object, ElfLayout& layout) {
  for (const ElfRelocation& r : object.relocations()) {
    if (run_of(object.sections()[r.section]) == Run::none) continue;
    const RelocationRow& row = row_of(object.machine(), r.type);
    const bool undefined = object.symbols()[r.symbol].section == kElfUndefined;
    if (row.via == got) layout.got[r.symbol] = 0;
    if (row.via == stub && undefined) layout.stubs[r.symbol] = 0;
    layout.low |= row.form == Form::abs32 || row.form == Form::abs32_signed;
  }
}

// ---- relocation ------------------------------------------------------------------------------

template <class T>
void store(uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

void patch_bits(uint8_t* at, uint32_t mask, uint32_t bits) {
  uint32_t word;
  std::memcpy(&word, at, sizeof word);
  store(at, (word & ~mask) | (bits & mask));
}

bool fits_signed(int64_t value, int bits) {
  return value >= -(int64_t{1} << (bits - 1)) && value < (int64_t{1} << (bits - 1));
}

void require(bool good, const RelocationRow& row, uint64_t value) {
  if (!good) reject("{}: {:#x} is out of range or misaligned", row.name, value);
}

void patch_adr(uint8_t* at, const RelocationRow& row, int64_t delta) {
  require(fits_signed(delta, 21), row, static_cast<uint64_t>(delta));
  const uint32_t bits = static_cast<uint32_t>(delta);
  patch_bits(at, 0x60ffffe0, ((bits & 3) << 29) | (((bits >> 2) & 0x7ffff) << 5));
}

/// value is S + A; place is P.
void apply(uint8_t* at, const RelocationRow& row, uint64_t value, uint64_t place) {
  const int64_t delta = static_cast<int64_t>(value - place);
  const uint32_t low12 = value & 0xfff;
  switch (row.form) {
    case Form::abs64:
      return store(at, value);
    case Form::rel64:
      return store(at, delta);
    case Form::abs32:
      require(value <= UINT32_MAX, row, value);
      return store(at, static_cast<uint32_t>(value));
    case Form::abs32_signed:
      require(fits_signed(static_cast<int64_t>(value), 32), row, value);
      return store(at, static_cast<uint32_t>(value));
    case Form::rel32:
      require(fits_signed(delta, 32), row, value);
      return store(at, static_cast<uint32_t>(delta));
    case Form::branch26:
      require(fits_signed(delta, 28) && delta % 4 == 0, row, value);
      return patch_bits(at, 0x03ffffff, static_cast<uint32_t>(delta >> 2));
    case Form::adr21:
      return patch_adr(at, row, delta);
    case Form::page21:
      return patch_adr(at, row,
                       static_cast<int64_t>((value & ~0xfffull) - (place & ~0xfffull)) >> 12);
    case Form::low12_add:
      return patch_bits(at, 0x003ffc00, low12 << 10);
    case Form::low12_load:
      require((low12 & ((1u << row.scale) - 1)) == 0, row, value);
      return patch_bits(at, 0x003ffc00, (low12 >> row.scale) << 10);
  }
}

uint64_t patched_B(Form form) { return form == Form::abs64 || form == Form::rel64 ? 8 : 4; }

/// One linking of one object.
struct Linker {
  const ElfObject& object;
  const ElfLayout& layout;
  std::span<const HostSymbol> allowed;
  uint64_t base;
  std::span<uint8_t> image;

  uint64_t external_address(const ElfSymbol& symbol) const {
    for (const HostSymbol& host : allowed)
      if (host.name == symbol.name) return reinterpret_cast<uint64_t>(host.address);
    reject("undefined symbol \"{}\" is not one that generated code may call", symbol.name);
  }

  uint64_t address(uint32_t index) const {
    const ElfSymbol& symbol = object.symbols()[index];
    if (index == 0) return 0;  // the null symbol: the addend alone
    if (symbol.section == kElfUndefined) return external_address(symbol);
    if (symbol.section == kElfAbsolute) return symbol.value;
    const uint64_t section = layout.sections[symbol.section];
    if (section == ElfLayout::kNowhere)
      reject("symbol {} lies in an unloaded section", symbol.name);
    return base + section + symbol.value;
  }

  void copy_sections() const {
    for (size_t i = 0; i < layout.sections.size(); ++i) {
      const auto bytes = object.contents(object.sections()[i]);
      if (layout.sections[i] != ElfLayout::kNowhere && !bytes.empty())
        std::memcpy(image.data() + layout.sections[i], bytes.data(), bytes.size());
    }
  }

  void write_indirections() const {
    for (auto [symbol, offset] : layout.got) store(image.data() + offset, address(symbol));
    for (auto [symbol, offset] : layout.stubs) {
      uint8_t* at = image.data() + offset;
      if (object.machine() == EM_X86_64) {
        store(at, uint16_t{0x25ff});  // jmp *2(%rip): the address sits at the stub's second half
        store(at + 2, uint32_t{2});
      } else {
        store(at, uint32_t{0x58000050});      // ldr x16, .+8
        store(at + 4, uint32_t{0xd61f0200});  // br x16
      }
      store(at + 8, address(symbol));
    }
  }

  uint64_t target(const ElfRelocation& r, const RelocationRow& row) const {
    if (row.via == got) return base + layout.got.at(r.symbol);
    if (auto found = layout.stubs.find(r.symbol); row.via == stub && found != layout.stubs.end())
      return base + found->second;
    return address(r.symbol);
  }

  void relocate() const {
    for (const ElfRelocation& r : object.relocations()) {
      const uint64_t section = layout.sections[r.section];
      if (section == ElfLayout::kNowhere) continue;
      const RelocationRow& row = row_of(object.machine(), r.type);
      const uint64_t limit = object.sections()[r.section].size_B, width = patched_B(row.form);
      if (r.offset_B > limit || width > limit - r.offset_B)
        reject("{} patches bytes {}+{} of {}", row.name, r.offset_B, width, limit);
      const uint64_t at = section + r.offset_B;
      apply(image.data() + at, row, target(r, row) + static_cast<uint64_t>(r.addend), base + at);
    }
  }
};

Mapping map_image(const ElfLayout& layout) {
  const size_t size_B = std::max<uint64_t>(layout.size_B, kPage_B);
  if (!layout.low) return Mapping::anonymous(size_B);
#ifdef MAP_32BIT
  void* p =
      mmap(nullptr, size_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (p == MAP_FAILED) throw_system_error(fmt::format("mmap({} B, MAP_32BIT)", size_B), errno);
  return Mapping::adopt(p, size_B);
#else
  reject("32-bit absolute addresses");
#endif
}

constexpr uint16_t kHostMachine =
#if defined(__x86_64__)
    EM_X86_64;
#else
    EM_AARCH64;
#endif

}  // namespace

ElfLayout lay_out(const ElfObject& object) {
  rows_of(object.machine());  // refuses foreign machines
  ElfLayout layout;
  layout.sections.assign(object.sections().size(), ElfLayout::kNowhere);
  collect_indirections(object, layout);
  uint64_t end = 0;
  place_sections(object, Run::text, layout, end);
  for (auto& [symbol, offset] : layout.stubs) offset = reserve(end, kStub_B, kStub_B);
  layout.text_end_B = end = reserve(end, 0, kPage_B);
  place_sections(object, Run::constant, layout, end);
  for (auto& [symbol, offset] : layout.got) offset = reserve(end, 8, 8);
  layout.constant_end_B = end = reserve(end, 0, kPage_B);
  place_sections(object, Run::writable, layout, end);
  layout.size_B = reserve(end, 0, kPage_B);
  return layout;
}

void link(const ElfObject& object, const ElfLayout& layout, std::span<const HostSymbol> allowed,
          uint64_t base, std::span<uint8_t> image) {
  CHECK_INVARIANT(image.size() >= layout.size_B, "the image is smaller than its layout");
  const Linker linker{object, layout, allowed, base, image};
  linker.copy_sections();
  linker.write_indirections();
  linker.relocate();
}

HostCode load_host_code(const ElfObject& object, std::span<const HostSymbol> allowed) {
  if (object.machine() != kHostMachine)
    reject("machine {} is not this host's ({})", object.machine(), kHostMachine);
  const ElfLayout layout = lay_out(object);
  HostCode code;
  code.mapping_ = map_image(layout);
  uint8_t* data = code.mapping_.data();
  link(object, layout, allowed, reinterpret_cast<uint64_t>(data), {data, code.mapping_.size_B()});
  code.mapping_.protect(layout.text_end_B, layout.constant_end_B - layout.text_end_B, PROT_READ);
  code.mapping_.protect(0, layout.text_end_B, PROT_READ | PROT_EXEC);
  __builtin___clear_cache(reinterpret_cast<char*>(data),
                          reinterpret_cast<char*>(data + layout.text_end_B));
  for (const ElfSymbol& symbol : object.symbols()) {
    if (symbol.section == kElfUndefined || symbol.section == kElfAbsolute || symbol.name.empty())
      continue;
    const uint64_t section = layout.sections[symbol.section];
    if (section != ElfLayout::kNowhere && symbol.type != STT_SECTION)
      code.symbols_.emplace(symbol.name, section + symbol.value);
  }
  return code;
}

const void* HostCode::symbol(std::string_view name) const {
  auto found = symbols_.find(name);
  if (found == symbols_.end()) reject("the object defines no symbol \"{}\"", name);
  return mapping_.data() + found->second;
}

}  // namespace tiny
