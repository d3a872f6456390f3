// SPDX-License-Identifier: MIT
#include "tools/trace/attach.h"

#include "tools/decode/nv.h"

#include <algorithm>
#include <span>

namespace tiny::trace {
namespace {

using decode::Bytes;
using decode::Range;

constexpr std::size_t kUnknownArgument_B = 64;  // of a UVM number that nobody knows
constexpr std::size_t kMaxRanges = 256, kMaxTotal_B = 4u << 20;
constexpr std::size_t kMaxSteps = 8;

bool is_uvm(std::string_view path) { return path.starts_with("/dev/nvidia-uvm"); }

/// Collects ranges, each once, within bounds.
class Collector {
 public:
  explicit Collector(const Memory& memory) : memory_(memory) {}

  /// How many were new.
  std::size_t add(const std::vector<Range>& ranges) {
    const std::size_t before = attached_.size();
    for (const Range& range : ranges) {
      if (attached_.size() >= kMaxRanges || total_B_ >= kMaxTotal_B) break;
      if (range.address == 0 || range.size_B == 0 || has(range)) continue;
      const std::size_t size_B = std::min<std::uint64_t>(range.size_B, kMaxTotal_B - total_B_);
      attached_.push_back({range.address, size_B, memory_.read(range.address, size_B), {}});
      total_B_ += size_B;
    }
    return attached_.size() - before;
  }
  std::vector<Attached>& all() { return attached_; }

 private:
  bool has(const Range& range) const {
    return std::any_of(attached_.begin(), attached_.end(), [&](const Attached& known) {
      return known.address == range.address && known.size_B >= range.size_B;
    });
  }
  const Memory& memory_;
  std::vector<Attached> attached_;
  std::size_t total_B_ = 0;
};

}  // namespace

std::size_t argument_size(std::string_view path, std::uint32_t request) {
  if (!is_uvm(path)) return request >> 16 & 0x3fff;  // _IOC_SIZE
  const std::size_t known_B = decode::uvm_argument_size(request);
  return known_B ? known_B : kUnknownArgument_B;
}

std::vector<Attached> attach(std::string_view path, bool is_msm, std::uint32_t request,
                             Bytes argument, const Memory& memory) {
  Collector collector(memory);
  Follow* follow = is_uvm(path)                      ? decode::follow_uvm
                   : path.starts_with("/dev/nvidia") ? decode::follow_nv
                   : path.starts_with("/dev/kgsl")   ? follow_qcom_kgsl
                   : is_msm                          ? follow_qcom_msm
                                                     : follow_amd_call;
  // Until they want nothing more. What cannot be read stays known, without bytes.
  for (std::size_t step = 0; step < kMaxSteps; ++step) {
    const std::vector<decode::Attachment> known = views(collector.all());
    if (collector.add(follow(request, argument, known)) == 0) break;
  }
  return std::move(collector.all());
}

void attach_after(std::vector<Attached>& attached, const Memory& memory) {
  for (Attached& range : attached) range.after = memory.read(range.address, range.size_B);
}

std::vector<decode::Attachment> views(const std::vector<Attached>& attached) {
  std::vector<decode::Attachment> out;
  for (const Attached& range : attached) out.push_back({range.address, range.before, range.after});
  return out;
}

}  // namespace tiny::trace
