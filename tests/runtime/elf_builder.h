// SPDX-License-Identifier: MIT
// Writes small ELF relocatable objects for tests, one field at a time. Independent of the parser.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace tiny::test {

class ElfBuilder {
 public:
  explicit ElfBuilder(uint16_t machine) : machine_(machine) {
    sections_.push_back({"", {}, {}, {}});
    symbols_.push_back({});
  }

  /// Returns the section's index. For SHT_NOBITS only the size of bytes counts.
  uint16_t section(const std::string& name, uint64_t flags, std::vector<uint8_t> bytes,
                   uint64_t align_B = 16, uint32_t type = SHT_PROGBITS) {
    Section s{name, {}, std::move(bytes), {}};
    s.header.sh_type = type;
    s.header.sh_flags = flags;
    s.header.sh_addralign = align_B;
    sections_.push_back(s);
    return static_cast<uint16_t>(sections_.size() - 1);
  }

  /// section 0 makes it undefined. Returns the symbol's index.
  uint32_t symbol(const std::string& name, uint16_t section, uint64_t value = 0) {
    Elf64_Sym s{};
    s.st_name = add_name(name);
    s.st_shndx = section;
    s.st_value = value;
    s.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE);
    symbols_.push_back(s);
    return static_cast<uint32_t>(symbols_.size() - 1);
  }

  void relocate(uint16_t section, uint64_t offset_B, uint32_t type, uint32_t symbol,
                int64_t addend) {
    Elf64_Rela r{};
    r.r_offset = offset_B;
    r.r_info = ELF64_R_INFO(static_cast<uint64_t>(symbol), type);
    r.r_addend = addend;
    sections_[section].relocations.push_back(r);
  }

  std::vector<uint8_t> build() const {
    std::vector<Section> all = sections_;
    const uint32_t symbol_table = static_cast<uint32_t>(all.size());
    all.push_back(table(".symtab", SHT_SYMTAB, symbol_table + 1, bytes_of(symbols_)));
    all.back().header.sh_entsize = sizeof(Elf64_Sym);
    all.push_back(table(".strtab", SHT_STRTAB, 0, {names_.begin(), names_.end()}));
    for (size_t i = 0; i < sections_.size(); ++i) {
      if (sections_[i].relocations.empty()) continue;
      Section rela = table(".rela" + sections_[i].name, SHT_RELA, symbol_table,
                           bytes_of(sections_[i].relocations));
      rela.header.sh_entsize = sizeof(Elf64_Rela);
      rela.header.sh_info = static_cast<uint32_t>(i);
      all.push_back(rela);
    }
    std::string section_names(1, '\0');
    all.push_back(table(".shstrtab", SHT_STRTAB, 0, {}));
    for (Section& s : all) {
      s.header.sh_name = s.name.empty() ? 0 : static_cast<uint32_t>(section_names.size());
      if (!s.name.empty()) section_names += s.name + '\0';
    }
    all.back().bytes.assign(section_names.begin(), section_names.end());
    return write(all);
  }

 private:
  struct Section {
    std::string name;
    Elf64_Shdr header;
    std::vector<uint8_t> bytes;
    std::vector<Elf64_Rela> relocations;
  };

  template <class T>
  static std::vector<uint8_t> bytes_of(const std::vector<T>& items) {
    std::vector<uint8_t> bytes(items.size() * sizeof(T));
    std::memcpy(bytes.data(), items.data(), bytes.size());
    return bytes;
  }

  static Section table(const std::string& name, uint32_t type, uint32_t link,
                       std::vector<uint8_t> bytes) {
    Section s{name, {}, std::move(bytes), {}};
    s.header.sh_type = type;
    s.header.sh_link = link;
    s.header.sh_addralign = 8;
    return s;
  }

  uint32_t add_name(const std::string& name) {
    const uint32_t at = static_cast<uint32_t>(names_.size());
    names_ += name + '\0';
    return at;
  }

  std::vector<uint8_t> write(std::vector<Section>& all) const {
    std::vector<uint8_t> file(sizeof(Elf64_Ehdr));
    for (Section& s : all) {
      s.header.sh_size = s.bytes.size();
      s.header.sh_offset = file.size();
      if (s.header.sh_type != SHT_NOBITS) file.insert(file.end(), s.bytes.begin(), s.bytes.end());
    }
    Elf64_Ehdr h{};
    std::memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64;
    h.e_ident[EI_DATA] = ELFDATA2LSB;
    h.e_ident[EI_VERSION] = EV_CURRENT;
    h.e_type = ET_REL;
    h.e_machine = machine_;
    h.e_version = EV_CURRENT;
    h.e_ehsize = sizeof(Elf64_Ehdr);
    h.e_shentsize = sizeof(Elf64_Shdr);
    h.e_shoff = file.size();
    h.e_shnum = static_cast<uint16_t>(all.size());
    h.e_shstrndx = static_cast<uint16_t>(all.size() - 1);
    std::memcpy(file.data(), &h, sizeof h);
    for (const Section& s : all) {
      const uint8_t* raw = reinterpret_cast<const uint8_t*>(&s.header);
      file.insert(file.end(), raw, raw + sizeof s.header);
    }
    return file;
  }

  uint16_t machine_;
  std::string names_ = std::string(1, '\0');
  std::vector<Section> sections_;
  std::vector<Elf64_Sym> symbols_;
};

}  // namespace tiny::test
