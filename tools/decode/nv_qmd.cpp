// SPDX-License-Identifier: MIT
#include "tools/decode/nv.h"

#include "tools/decode/nv_tables.h"
#include "tools/decode/nv_words.h"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace tiny::decode {
namespace {

using namespace nv;

struct QmdField {
  ValueField bits;
  std::uint32_t stride = 0, elements = 1;
};

/// The fields of one version, in the order of their bits, and where each name is.
struct QmdLayout {
  std::vector<QmdField> fields;
  std::map<std::string_view, std::size_t> by_name;
};

bool lists(std::string_view versions, std::string_view version) {
  return versions.find(version) != versions.npos;  // all are `NN_NN`
}

constexpr std::string_view kVersions[] = {"02_02", "02_03", "02_04", "03_00",
                                          "04_00", "04_01", "05_00", "05_01"};

struct Layouts {
  std::map<std::string_view, QmdLayout> versions;
  Layouts() {
    for (const Row& row : rows(embedded_table("nv_qmd"))) {
      QmdField field;
      field.bits.name = row[0];
      field.bits.hi = static_cast<std::uint32_t>(row.number(1));
      field.bits.lo = static_cast<std::uint32_t>(row.number(2));
      field.stride = static_cast<std::uint32_t>(row.number(3));
      field.elements = std::max(1u, static_cast<std::uint32_t>(row.number(4)));
      field.bits.values = parse_values(row[6]);
      for (const std::string_view version : kVersions)
        if (lists(row[5], version)) {
          QmdLayout& layout = versions[version];
          layout.by_name.emplace(field.bits.name, layout.fields.size());
          layout.fields.push_back(field);
        }
    }
  }
};
const QmdLayout* layout_of(std::string_view version) {
  static const Layouts all;
  const auto found = all.versions.find(version);
  return found == all.versions.end() ? nullptr : &found->second;
}

/// A field name in parts: `CONSTANT_BUFFER_ADDR` `LOWER`, shifted by 6.
struct NameParts {
  std::string_view stem;
  std::string half;  ///< LOWER, UPPER or nothing
  std::uint32_t shift = 0;
};

NameParts split_name(std::string_view name) {
  NameParts parts{name, {}, 0};
  if (const std::size_t at = name.rfind("_SHIFTED"); at != name.npos) {
    const std::string_view digits = name.substr(at + std::string_view("_SHIFTED").size());
    // PROGRAM_PREFETCH_ADDR_*_SHIFTED names no number: program addresses are 256-byte aligned.
    parts.shift = digits.empty() ? 8 : static_cast<std::uint32_t>(digits[0] - '0');
    parts.stem = name.substr(0, at);
  } else if (name.ends_with("_POINTER") && name.starts_with("DEPENDENT_QMD")) {
    parts.shift = 8;
  }
  for (const std::string_view half : {"_LOWER", "_UPPER"})
    if (parts.stem.ends_with(half)) {
      parts.half = half.substr(1);
      parts.stem.remove_suffix(half.size());
    }
  return parts;
}

bool is_address(std::string_view stem) {
  return stem.ends_with("_ADDR") || stem.ends_with("_ADDRESS") || stem.ends_with("_POINTER");
}

std::string indexed(std::string_view name, const QmdField& field, std::uint32_t index) {
  return field.stride ? fmt::format("{}({})", name, index) : std::string(name);
}

class QmdPrinter {
 public:
  QmdPrinter(const QmdLayout& layout, Words qmd, const Symbols& symbols, Line& line)
      : layout_(layout), qmd_(qmd), symbols_(symbols), line_(line) {}

  void print() const {
    for (const QmdField& field : layout_.fields)
      for (std::uint32_t i = 0; i < field.elements; ++i) add(field, i);
  }

 private:
  std::uint64_t value(const QmdField& field, std::uint32_t index) const {
    const std::uint32_t step = field.stride * index;
    return extract_bits(qmd_, field.bits.hi + step, field.bits.lo + step);
  }

  const QmdField* find(const std::string& name) const {
    const auto found = layout_.by_name.find(name);
    return found == layout_.by_name.end() ? nullptr : &layout_.fields[found->second];
  }

  /// The field of the other half, which has the same stem and shift.
  const QmdField* other_half(const QmdField& field, const NameParts& parts) const {
    std::string name(field.bits.name);
    const std::size_t at = name.rfind(parts.half);
    return find(name.replace(at, parts.half.size(), parts.half == "LOWER" ? "UPPER" : "LOWER"));
  }

  void add(const QmdField& field, std::uint32_t index) const {
    const NameParts parts = split_name(field.bits.name);
    const QmdField* other = parts.half.empty() ? nullptr : other_half(field, parts);
    if (other) {
      if (parts.half == "LOWER") add_pair(field, *other, parts, index);
      return;
    }
    const std::uint64_t number = value(field, index);
    if (number == 0) return;
    const std::string name = indexed(parts.shift ? parts.stem : field.bits.name, field, index);
    if (parts.shift)
      add_shifted(name, parts.stem, number << parts.shift);
    else
      line_.add(name, field.bits.text(number));
  }

  void add_pair(const QmdField& lower, const QmdField& upper, const NameParts& parts,
                std::uint32_t index) const {
    const std::uint32_t width = lower.bits.hi - lower.bits.lo + 1;
    const std::uint64_t number = value(upper, index) << std::min(width, 63u) | value(lower, index);
    if (number == 0) return;
    add_shifted(indexed(parts.stem, lower, index), parts.stem, number << parts.shift);
  }

  void add_shifted(const std::string& name, std::string_view stem, std::uint64_t number) const {
    line_.add(name, is_address(stem) ? symbols_.address(number) : number_text(number));
  }

  const QmdLayout& layout_;
  Words qmd_;
  const Symbols& symbols_;
  Line& line_;
};

/// Bits that no field covers are shown where they are set.
void add_unknown_bits(Line& line, const QmdLayout& layout, Words qmd) {
  std::vector<std::uint32_t> rest(qmd.begin(), qmd.end());
  for (const QmdField& field : layout.fields)
    for (std::uint32_t i = 0; i < field.elements; ++i)
      for (std::uint32_t bit = field.bits.lo + field.stride * i;
           bit <= field.bits.hi + field.stride * i; ++bit)
        if (bit / 32 < rest.size()) rest[bit / 32] &= ~(1u << bit % 32);
  for (std::size_t i = 0; i < rest.size(); ++i)
    if (rest[i]) line.add(fmt::format("unk_dw{}", i), fmt::format("{:#x}", rest[i]));
}

std::string version_text(std::uint64_t major, std::uint64_t minor) {
  return fmt::format("{:02}_{:02}", major, minor);
}

struct ClassVersions {
  std::uint32_t class_id;
  std::vector<std::string_view> versions;
};
// cl*c0qmd.h; the first is the class's newest that one grid needs.
const std::vector<ClassVersions>& class_versions() {
  static const std::vector<ClassVersions> all = {
      {0xc3c0, {"02_02"}},
      {0xc4c0, {"02_02"}},
      {0xc5c0, {"02_03", "02_02"}},
      {0xc6c0, {"03_00", "02_04", "02_03"}},
      {0xc7c0, {"03_00", "02_04", "02_03"}},
      {0xc9c0, {"03_00", "02_04"}},
      {0xcbc0, {"04_00", "03_00"}},
      {0xcdc0, {"05_00", "05_01", "04_01"}},
      {0xcec0, {"05_00", "05_01", "04_01"}},
  };
  return all;
}

/// The version that the words name if they are of a layout with its version at these bits.
std::optional<std::string_view> named_version(Words qmd, std::uint32_t minor_bit) {
  const std::string text = version_text(extract_bits(qmd, minor_bit + 7, minor_bit + 4),
                                        extract_bits(qmd, minor_bit + 3, minor_bit));
  for (const std::string_view version : kVersions)
    if (version == text && (version >= "05") == (minor_bit == 464)) return version;
  return std::nullopt;
}

constexpr std::uint32_t kMinorBit = 576, kMinorBit5 = 464;

}  // namespace

std::vector<std::string_view> qmd_versions(std::uint32_t compute_class) {
  for (const ClassVersions& entry : class_versions())
    if (entry.class_id == compute_class) return entry.versions;
  return {};
}

std::uint32_t qmd_size_B(std::string_view version) { return version >= "04" ? 384 : 256; }

std::string_view detect_qmd_version(Words qmd, std::uint32_t compute_class) {
  const std::vector<std::string_view> own = qmd_versions(compute_class);
  for (const std::uint32_t minor_bit : {kMinorBit, kMinorBit5}) {
    const auto version = named_version(qmd, minor_bit);
    if (!version || qmd.size() * 4 < qmd_size_B(*version)) continue;
    if (own.empty() || std::find(own.begin(), own.end(), *version) != own.end()) return *version;
  }
  return own.empty() ? std::string_view() : own.front();
}

Line decode_qmd(Words qmd, std::string_view version, const Symbols& symbols) {
  Line line;
  line.name = "QMD";
  const QmdLayout* layout = layout_of(version);
  line.add("version", std::string(layout ? version : "?"));
  if (!layout) {
    line.add("data", hex_bytes(std::as_bytes(qmd), 384));
    return line;
  }
  const std::size_t words = qmd_size_B(version) / 4;
  const Words own = qmd.first(std::min(qmd.size(), words));
  QmdPrinter(*layout, own, symbols, line).print();
  add_unknown_bits(line, *layout, own);
  if (own.size() < words) line.add("truncated", fmt::format("{}", (words - own.size()) * 4));
  if (qmd.size() > words) line.add("extra", hex_bytes(std::as_bytes(qmd.subspan(words)), 64));
  return line;
}

}  // namespace tiny::decode
