// SPDX-License-Identifier: MIT
// The parser. Reads fields with memcpy, so nothing in the file needs alignment.
#include <rt_tiny/runtime/base/elf.h>

#include <elf.h>
#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace tiny {
namespace {

constexpr uint64_t kMaxAlign_B = 1
                                 << 16;  // AMDGPU code wants 256; no section needs more than a page
constexpr size_t kMaxNameLength = 1 << 14;  // keeps overlapping names from being scanned forever

template <class... Args>
[[noreturn]] void reject(fmt::format_string<Args...> format, Args&&... args) {
  throw UsageError("[elf] " + fmt::format(format, std::forward<Args>(args)...));
}

bool in_range(uint64_t offset, uint64_t size, uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

template <class T>
T read_at(std::span<const uint8_t> bytes, uint64_t offset) {
  if (!in_range(offset, sizeof(T), bytes.size()))
    reject("truncated: {} bytes at {} of {}", sizeof(T), offset, bytes.size());
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string_view name_at(std::span<const uint8_t> table, uint64_t offset) {
  if (table.empty() && offset == 0) return {};
  if (offset >= table.size())
    reject("name at {} outside a string table of {}", offset, table.size());
  const size_t limit = std::min<size_t>(table.size() - offset, kMaxNameLength);
  const uint8_t* begin = table.data() + offset;
  const void* end = std::memchr(begin, 0, limit);
  if (!end) reject("name at {} is not terminated", offset);
  return {reinterpret_cast<const char*>(begin),
          static_cast<size_t>(static_cast<const uint8_t*>(end) - begin)};
}

bool has_contents(const ElfSection& s) { return s.type != SHT_NULL && s.type != SHT_NOBITS; }

}  // namespace

/// Fills an ElfObject step by step; each step relies on the ones before.
struct ElfParser {
  ElfObject& object;
  std::optional<uint32_t> symbol_table;

  Elf64_Ehdr header() const {
    const auto h = read_at<Elf64_Ehdr>(object.bytes_, 0);
    if (std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0) reject("not an ELF file");
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB)
      reject("not 64-bit little-endian");
    if (h.e_ident[EI_VERSION] != EV_CURRENT || h.e_version != EV_CURRENT)
      reject("unknown version {}", h.e_version);
    if (h.e_type != ET_REL) reject("not a relocatable object (e_type {})", h.e_type);
    if (h.e_shentsize != sizeof(Elf64_Shdr)) reject("section headers of {} bytes", h.e_shentsize);
    return h;
  }

  void parse() {
    const Elf64_Ehdr h = header();
    object.machine_ = h.e_machine;
    object.flags_ = h.e_flags;
    parse_sections(h);
    for (uint32_t i = 0; i < object.sections_.size(); ++i)
      if (object.sections_[i].type == SHT_SYMTAB) parse_symbols(i);
    for (const ElfSection& section : object.sections_) {
      if (section.type == SHT_REL) reject("section {}: REL relocations", section.name);
      if (section.type == SHT_RELA) parse_relocations(section);
    }
  }

  void parse_sections(const Elf64_Ehdr& h) {
    if (h.e_shoff == 0) reject("no section headers");
    // Counts that do not fit the header live in section 0 (System V ABI, "Section Header").
    const auto first = read_at<Elf64_Shdr>(object.bytes_, h.e_shoff);
    const uint64_t count = h.e_shnum ? h.e_shnum : first.sh_size;
    const uint32_t names = h.e_shstrndx == SHN_XINDEX ? first.sh_link : h.e_shstrndx;
    if (count == 0 || count > (object.bytes_.size() - h.e_shoff) / sizeof(Elf64_Shdr))
      reject("{} section headers do not fit", count);
    std::vector<uint32_t> name_offsets;
    uint64_t total_B = 0;
    for (uint64_t i = 0; i < count; ++i) {
      const auto s = read_at<Elf64_Shdr>(object.bytes_, h.e_shoff + i * sizeof(Elf64_Shdr));
      name_offsets.push_back(s.sh_name);
      object.sections_.push_back(make_section(s, i, total_B));
    }
    const auto table = string_table(names);
    for (size_t i = 0; i < count; ++i) object.sections_[i].name = name_at(table, name_offsets[i]);
  }

  /// Sections with contents may not overlap in sum, which bounds all later work by the file's size.
  ElfSection make_section(const Elf64_Shdr& s, uint64_t index, uint64_t& total_B) const {
    ElfSection section;
    section.type = index == 0 ? static_cast<uint32_t>(SHT_NULL) : s.sh_type;
    section.link = s.sh_link;
    section.info = s.sh_info;
    section.flags = s.sh_flags;
    section.offset_B = s.sh_offset;
    section.size_B = index == 0 ? 0 : s.sh_size;
    section.align_B = s.sh_addralign ? s.sh_addralign : 1;
    section.entry_B = s.sh_entsize;
    if (section.type == SHT_NULL) return ElfSection{};
    if ((section.align_B & (section.align_B - 1)) || section.align_B > kMaxAlign_B)
      reject("section {}: alignment {}", index, section.align_B);
    if (!has_contents(section)) return section;
    if (!in_range(section.offset_B, section.size_B, object.bytes_.size()))
      reject("section {}: bytes {}+{} outside the file of {}", index, section.offset_B,
             section.size_B, object.bytes_.size());
    if (section.size_B > object.bytes_.size() - total_B) reject("sections overlap");
    total_B += section.size_B;
    return section;
  }

  std::span<const uint8_t> string_table(uint32_t index) const {
    if (index >= object.sections_.size() || object.sections_[index].type != SHT_STRTAB)
      reject("section {} is not a string table", index);
    return object.contents(object.sections_[index]);
  }

  void parse_symbols(uint32_t index) {
    if (symbol_table) reject("two symbol tables");
    symbol_table = index;
    const ElfSection& table = object.sections_[index];
    if (table.entry_B != sizeof(Elf64_Sym) || table.size_B % sizeof(Elf64_Sym))
      reject("symbol table of {} bytes, {} an entry", table.size_B, table.entry_B);
    const auto names = string_table(table.link), bytes = object.contents(table);
    for (uint64_t at = 0; at < bytes.size(); at += sizeof(Elf64_Sym)) {
      const auto s = read_at<Elf64_Sym>(bytes, at);
      ElfSymbol symbol{name_at(names, s.st_name),
                       s.st_shndx,
                       s.st_value,
                       s.st_size,
                       static_cast<uint8_t>(ELF64_ST_BIND(s.st_info)),
                       static_cast<uint8_t>(ELF64_ST_TYPE(s.st_info))};
      check_symbol(symbol);
      object.symbols_.push_back(symbol);
    }
  }

  void check_symbol(const ElfSymbol& s) const {
    if (s.section == SHN_UNDEF || s.section == SHN_ABS) return;
    if (s.section == SHN_COMMON) reject("common symbol {}", s.name);
    if (s.section >= object.sections_.size()) reject("symbol {}: section {}", s.name, s.section);
    const uint64_t limit = object.sections_[s.section].size_B;
    if (!in_range(s.value, s.size_B, limit))
      reject("symbol {}: bytes {}+{} outside its section of {}", s.name, s.value, s.size_B, limit);
  }

  void parse_relocations(const ElfSection& table) {
    if (table.entry_B != sizeof(Elf64_Rela) || table.size_B % sizeof(Elf64_Rela))
      reject("relocations of {} bytes, {} an entry", table.size_B, table.entry_B);
    if (!symbol_table || table.link != *symbol_table)
      reject("relocations {} refer to section {}, not the symbol table", table.name, table.link);
    if (table.info >= object.sections_.size() || !has_contents(object.sections_[table.info]))
      reject("relocations {} patch section {}, which has no contents", table.name, table.info);
    const uint64_t limit = object.sections_[table.info].size_B;
    const auto bytes = object.contents(table);
    for (uint64_t at = 0; at < bytes.size(); at += sizeof(Elf64_Rela)) {
      const auto r = read_at<Elf64_Rela>(bytes, at);
      const ElfRelocation relocation{table.info, static_cast<uint32_t>(ELF64_R_TYPE(r.r_info)),
                                     static_cast<uint32_t>(ELF64_R_SYM(r.r_info)), r.r_offset,
                                     r.r_addend};
      if (relocation.symbol >= object.symbols_.size())
        reject("a relocation names symbol {} of {}", relocation.symbol, object.symbols_.size());
      if (relocation.offset_B >= limit)
        reject("a relocation patches byte {} of {}", relocation.offset_B, limit);
      object.relocations_.push_back(relocation);
    }
  }
};

ElfObject::ElfObject(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {
  ElfParser{*this, {}}.parse();
}

std::span<const uint8_t> ElfObject::contents(const ElfSection& section) const {
  if (!has_contents(section)) return {};
  return std::span(bytes_).subspan(section.offset_B, section.size_B);
}

const ElfSection* ElfObject::find_section(std::string_view name) const {
  for (const ElfSection& section : sections_)
    if (section.type != SHT_NULL && section.name == name) return &section;
  return nullptr;
}

const ElfSymbol* ElfObject::find_symbol(std::string_view name) const {
  for (const ElfSymbol& symbol : symbols_)
    if (symbol.section != kElfUndefined && symbol.name == name) return &symbol;
  return nullptr;
}

}  // namespace tiny
