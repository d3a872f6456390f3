// SPDX-License-Identifier: MIT
// Names for the buffers of a traced process, in order of appearance, so that an address is printed
// as `buf3+0x40`, the same in every run.
#pragma once

#include "tools/decode/decode.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tiny::trace {

/// Where watchers tell what they learn about the address space.
class NameSink {
 public:
  virtual ~NameSink() = default;
  /// `role` is what the range is for: buf, ring, doorbell, … A range known as `buf` may get a
  /// better role; the same range told again keeps its name.
  virtual void add(std::uint64_t address, std::uint64_t size_B, std::string_view role) = 0;
  virtual void remove(std::uint64_t address, std::uint64_t size_B) = 0;
};

class Names : public NameSink, public decode::Symbols {
 public:
  void add(std::uint64_t address, std::uint64_t size_B, std::string_view role) override;
  void remove(std::uint64_t address, std::uint64_t size_B) override;
  std::string address(std::uint64_t va) const override;
  /// `buf3`, or "" where no range covers the address.
  std::string name_at(std::uint64_t va) const;
  std::size_t ranges() const { return segments_.size(); }

 private:
  struct Segment {
    std::uint64_t end = 0;   // exclusive
    std::uint64_t base = 0;  // of the named range, of which this may be a part
    std::uint32_t role = 0, number = 0;
  };
  const std::pair<const std::uint64_t, Segment>* find(std::uint64_t va) const;
  void split(std::uint64_t at);
  std::uint32_t role_index(std::string_view role);

  std::map<std::uint64_t, Segment> segments_;  // by first address; disjoint
  std::vector<std::string> roles_;
  std::vector<std::uint32_t> used_;  // numbers given, by role
};

}  // namespace tiny::trace
