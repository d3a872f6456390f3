// SPDX-License-Identifier: MIT
// NVIDIA: RM and UVM ioctls, GPFIFO entries, pushbuffer methods and launch descriptors (QMD), as
// text; and, for a recorder, what memory such a call or submission refers to.
#pragma once

#include "tools/decode/decode.h"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tiny::decode {

/// What earlier calls of a process told: the driver's version and the class of each RM object.
/// Layouts of structures depend on the version; without one those of branch 580 are used, with an
/// unknown one those of the nearest older branch, and the first line that depends on it says so.
class NvState {
 public:
  /// `580.159.03`. CHECK_VERSION_STR replies set it too.
  void set_driver_version(std::string_view version);
  const std::string& driver_version() const { return version_; }
  /// The branch of the tables in use: `580`.
  std::string_view branch() const { return branch_; }
  /// The remark about the version, once; then empty.
  std::string take_note();

  void add_object(std::uint32_t client, std::uint32_t handle, std::uint32_t parent,
                  std::uint32_t class_id);
  /// Forgets an object and all below it.
  void remove_object(std::uint32_t client, std::uint32_t handle);
  std::optional<std::uint32_t> object_class(std::uint32_t client, std::uint32_t handle) const;
  /// `0x5c000001(NV20_SUBDEVICE_0)`, or the number alone where the object is not known.
  std::string handle_text(std::uint32_t client, std::uint32_t handle) const;

 private:
  struct Object {
    std::uint32_t class_id = 0, parent = 0;
  };
  std::string version_;
  std::string_view branch_ = "580";
  std::string note_ = "driver version unknown: layouts of 580";
  std::unordered_map<std::uint64_t, Object> objects_;  // client << 32 | handle
};

/// A call on /dev/nvidiactl or /dev/nvidiaN. Structures that the argument points to are read from
/// the attachments (follow_nv says which).
Line decode_nvidia_ioctl(const IoctlCall& call, NvState& state, const Symbols& symbols);
/// A call on /dev/nvidia-uvm.
Line decode_uvm_ioctl(const IoctlCall& call, NvState& state, const Symbols& symbols);

// ---- For recorders that run inside the traced program: no tables, no exceptions of their own ----

/// Bytes of the argument of a UVM call, of which the request says nothing: the largest of all
/// driver versions; 0 for unknown numbers.
std::size_t uvm_argument_size(std::uint32_t request);
/// Memory that `argument`, and what is already in `known`, points to and that is not in `known`
/// yet: control and allocation parameters, lists that known controls point to, the inner frame of
/// NV_ESC_IOCTL_XFER_CMD. A recorder asks until nothing comes back; for what it cannot read it adds
/// an attachment without bytes. Sizes are clamped to kFollowLimit_B.
std::vector<Range> follow_nv(std::uint32_t request, Bytes argument,
                             std::span<const Attachment> known = {});
std::vector<Range> follow_uvm(std::uint32_t request, Bytes argument,
                              std::span<const Attachment> known = {});
/// What the parameters of control `cmd` point to.
std::vector<Range> follow_nv_nested(std::uint32_t cmd, Bytes params);
/// One step for callers that go from attachment to attachment: what `attached`, one of the ranges
/// that follow_nv or this returned, points to.
std::vector<Range> follow_nv_next(std::uint32_t request, Bytes argument, Bytes attached);

/// Segments of pushbuffer that ring entries (two words each) refer to. `extended_base` is bits
/// 56:40 of the addresses, as SET_PB_SEGMENT_EXTENDED_BASE entries left it; kept across calls.
std::vector<Range> walk_gpfifo(Words entries, std::uint64_t& extended_base);

/// A launch descriptor in memory.
struct QmdReference {
  std::uint64_t address = 0;
  std::uint32_t size_B = 0;
  std::uint32_t compute_class = 0;  ///< 0 where the subchannel's class is not known
};
/// Finds SEND_PCAS_A methods; knows the class of each subchannel from SET_OBJECT.
class PushbufferWalker {
 public:
  std::vector<QmdReference> walk(Words segment);
  void bind(std::uint32_t subchannel, std::uint32_t class_id);

 private:
  std::array<std::uint32_t, 8> classes_{};
};
/// Valid constant buffers of a QMD (kernel arguments are in the first).
std::vector<Range> walk_qmd(Words qmd, std::uint32_t compute_class);

// ---- Rings and pushbuffers ----

/// Two words an entry, one line each: `GP_ENTRY address=buf2+0x100 length_dw=24 LEVEL=MAIN …`.
std::vector<Line> decode_gpfifo(Words entries, const Symbols& symbols);

/// One pushbuffer's stream of methods, one line a method: `NVCBC0_SEND_PCAS_A …`.
class PushbufferDecoder {
 public:
  /// Host methods (below 0x100) are of `channel_class`.
  explicit PushbufferDecoder(std::uint32_t channel_class = 0xc86f);
  ~PushbufferDecoder();
  PushbufferDecoder(PushbufferDecoder&&) noexcept;
  PushbufferDecoder& operator=(PushbufferDecoder&&) noexcept;

  /// What SET_OBJECT does; for streams whose beginning was not seen.
  void bind(std::uint32_t subchannel, std::uint32_t class_id);
  /// Decodes one segment. Classes, address halves and inline data carry over to the next one.
  std::vector<Line> decode(Words segment, const Symbols& symbols);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// ---- Launch descriptors ----

/// All fields that are not zero. `version` is `02_02` … `05_01`; halves of addresses are put
/// together, sizes and addresses stored shifted are shown unshifted.
Line decode_qmd(Words qmd, std::string_view version, const Symbols& symbols);
/// The version that QMD_MAJOR_VERSION and QMD_MINOR_VERSION name, where the class can have it;
/// the class's own default where they are zero or odd. Class 0: any. Empty where nothing fits.
std::string_view detect_qmd_version(Words qmd, std::uint32_t compute_class);
/// The versions a compute class defines, its default first; empty for other classes.
std::vector<std::string_view> qmd_versions(std::uint32_t compute_class);
/// 256 or 384.
std::uint32_t qmd_size_B(std::string_view version);

}  // namespace tiny::decode
