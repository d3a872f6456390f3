// SPDX-License-Identifier: MIT
// Reader of the golden set (tools/golden): cases with inputs, parameters and what PyTorch computed.
#pragma once

#include <rt_tiny/runtime/base/dtype.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tiny::golden {

/// A tensor of the file, row-major. The bytes live as long as the File and are 8-aligned.
struct Stored {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
  /// Movement ops that make the operand from this tensor, in order: an array of
  /// ["reshape", shape] ["permute", axes] ["expand", shape] ["flip", axes]
  /// ["slice", axis, begin, end, step]. Inputs only; empty for most.
  nlohmann::json moves = nlohmann::json::array();

  size_t count() const { return bytes.size() / size_B(dtype); }
  /// Elements as T, which must be the stored type (Half and BFloat16 for the 16-bit floats).
  template <class T>
  std::span<const T> as() const {
    check_type(dtype_of<T>);
    return {reinterpret_cast<const T*>(bytes.data()), count()};
  }
  /// Every element as a number; i64 beyond 2^53 is rounded.
  std::vector<double> numbers() const;

 private:
  void check_type(DType asked) const;
};

/// Equal means both NaN, the same infinity, or |got - want| <= atol + rtol * |want|.
struct Tolerance {
  double rtol = 0, atol = 0;
};

struct Case {
  std::string name, op;   ///< "conv2d/stride2_pad1", "conv2d"
  nlohmann::json params;  ///< an object; tools/golden/README.md has the names
  std::vector<Stored> inputs, outputs;
  /// One per output (absent where no gradient flows); empty for cases without gradients.
  std::vector<std::optional<Stored>> upstream;
  /// d/d(stored input), absent where the input has none. Empty when `upstream` is.
  std::vector<std::optional<Stored>> grads;
  Tolerance tolerance, grad_tolerance;
  bool signed_zero = false;  ///< outputs must tell -0 from +0

  bool has_grads() const { return !upstream.empty(); }
};

class File {
 public:
  /// Throws UsageError when the file is not a golden file.
  explicit File(const std::string& path);
  const std::vector<Case>& cases() const { return cases_; }
  const std::string& path() const { return path_; }

 private:
  Stored stored(const nlohmann::json& reference) const;
  std::optional<Stored> stored_or_none(const nlohmann::json& reference) const;
  Case parse_case(const nlohmann::json& record) const;

  std::string path_;
  std::vector<std::byte> blob_;
  std::vector<Case> cases_;
};

/// The golden files of a folder, sorted.
std::vector<std::string> files_in(const std::string& folder);

/// A number of `params`, where infinities and NaN are written as strings.
double real(const nlohmann::json& value);

/// "" when the result is what was expected, else what differs and where. Integers must be equal.
std::string mismatch(const Stored& want, DType dtype, const std::vector<int64_t>& shape,
                     std::span<const std::byte> got, Tolerance tolerance, bool signed_zero = false);

}  // namespace tiny::golden
