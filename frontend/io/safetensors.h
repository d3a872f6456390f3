// SPDX-License-Identifier: MIT
// Named tensors to and from safetensors files.
#pragma once

#include <rt_tiny/frontend/tensor.h>

#include <map>
#include <string>

namespace tiny {

/// Writes the tensors, or nothing: the file takes its name when it is complete. Values are computed
/// if need be and copied to the host one tensor at a time. Throws UsageError on a name that the
/// format does not allow, SystemError when the file cannot be written (a full disk).
TINY_API void save_safetensors(const std::string& path,
                               const std::map<std::string, Tensor>& tensors,
                               const std::map<std::string, std::string>& metadata = {});

/// All tensors of a file, on the default device. Throws UsageError "[safetensors] path: reason" on
/// a file that breaks any rule of the format, SystemError when it cannot be read.
TINY_API std::map<std::string, Tensor> load_safetensors(const std::string& path);

/// The file's free-form texts ("__metadata__").
TINY_API std::map<std::string, std::string> safetensors_metadata(const std::string& path);

}  // namespace tiny
