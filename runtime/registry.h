// SPDX-License-Identifier: MIT
// Which devices exist: back ends by vendor name, probing with reasons, and the process's open ones.
#pragma once

#include <rt_tiny/runtime/base/api.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tiny {

class Device;
class Backend;

struct TINY_API ProbeResult {
  std::string spec;  ///< "CPU:0", "AMD"
  bool present = false;
  std::string reason;       ///< a description, or why it is absent
  bool is_default = false;  ///< what default_device() opens
};

/// "CPU", "CPU:0", "NULL:cpu", "AMD:1"; the vendor in any case. Devices are shared: one per process
/// and spec, while somebody holds it. Throws UsageError for an unknown spec (with the known ones),
/// SystemError with the reason for an absent device.
TINY_API std::shared_ptr<Device> open_device(std::string_view spec);
/// The DEV knob, else the best device present.
TINY_API std::shared_ptr<Device> default_device();
/// Every known device. Never throws: an absent one has its reason.
TINY_API std::vector<ProbeResult> probe_devices();

/// One vendor. `suffix` is what follows the colon in a spec: "0", "cpu", or empty.
struct TINY_API BackendInfo {
  std::string vendor;  ///< upper case: "CPU"
  int rank = 0;        ///< the best present one is the default; below 0: never the default
  std::function<std::vector<ProbeResult>()> probe;
  /// The canonical suffix ("" → "0"). Throws UsageError when it makes no sense.
  std::function<std::string(std::string_view suffix)> canonical;
  /// Throws SystemError when the device is absent.
  std::function<std::unique_ptr<Backend>(std::string_view suffix)> open;
};
/// Adds a back end, or replaces the one of that vendor.
TINY_API void register_backend(BackendInfo);

namespace detail {
/// Defined in drivers/builtin.cpp: the drivers this library was built with.
void register_builtin_backends(std::vector<BackendInfo>&);
}  // namespace detail

}  // namespace tiny
