// SPDX-License-Identifier: MIT
// A kernel loaded on a device, and the arguments and launch shape of one dispatch.
#pragma once

#include <rt_tiny/runtime/base/api.h>
#include <rt_tiny/runtime/base/binary.h>
#include <rt_tiny/runtime/memory.h>

#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace tiny {

class Device;

/// The driver's half of a program: code where the device can run it.
class TINY_API ProgramCode {
 public:
  virtual ~ProgramCode();
};

/// A loaded kernel. Immutable; keeps the device alive.
class TINY_API Program {
 public:
  Program(std::shared_ptr<Device>, Binary, std::shared_ptr<ProgramCode>, bool has_layout);

  const std::string& name() const { return binary_.name; }
  const Binary& binary() const { return binary_; }
  const std::shared_ptr<Device>& device() const { return device_; }
  const std::shared_ptr<ProgramCode>& code() const { return code_; }
  /// False for raw code without an argument table: arguments are then laid out as in a C struct.
  bool has_layout() const { return has_layout_; }

 private:
  std::shared_ptr<Device> device_;
  Binary binary_;
  std::shared_ptr<ProgramCode> code_;
  bool has_layout_;
};

/// A value that is known only at submit: entry `slot` of SubmitArgs::buffers or ::variables.
struct TINY_API Symbol {
  enum class Kind : uint8_t { buffer, variable };
  Kind kind = Kind::buffer;
  uint32_t slot = 0;
  uint64_t offset_B = 0;  ///< buffer: added to the start of the bound slice
  uint64_t size_B = 0;    ///< buffer: bytes used from there; 0 = to the end of the bound slice

  static Symbol buffer(uint32_t slot, uint64_t offset_B = 0, uint64_t size_B = 0) {
    return {Kind::buffer, slot, offset_B, size_B};
  }
  static Symbol variable(uint32_t slot) { return {Kind::variable, slot, 0, 0}; }
};

/// One kernel argument: memory, a number, or a symbol for either.
struct TINY_API Argument {
  enum class Kind : uint8_t { buffer, scalar, symbol };
  Kind kind = Kind::scalar;
  Buffer buffer;
  Symbol symbol;
  uint64_t bits = 0;        ///< scalar: its bytes, zero-extended
  uint8_t scalar_B = 0;     ///< scalar: 1, 2, 4 or 8
  bool is_integer = false;  ///< scalar: may fill a variable slot
  int64_t integer = 0;      ///< scalar: its value, if it is an integer
};

class TINY_API Arguments {
 public:
  Arguments& add(const Buffer&);
  Arguments& add(const Symbol&);
  template <class T>
    requires(std::is_arithmetic_v<T>)
  Arguments& add(T value) {
    static_assert(sizeof(T) <= 8);
    if constexpr (std::is_integral_v<T>)
      return add_scalar(&value, sizeof(T), true, static_cast<int64_t>(value));
    else
      return add_scalar(&value, sizeof(T), false, 0);
  }
  const std::vector<Argument>& values() const { return values_; }

 private:
  Arguments& add_scalar(const void* bytes, size_t size_B, bool is_integer, int64_t integer);
  std::vector<Argument> values_;
};

/// `args(x, y, 3.0f, n)`: buffers, numbers and symbols in the order of the kernel's parameters.
template <class... T>
Arguments args(const T&... values) {
  Arguments out;
  (out.add(values), ...);
  return out;
}

struct TINY_API Extent {
  uint32_t x = 1, y = 1, z = 1;
};

struct TINY_API LaunchShape {
  Extent groups{}, group_size{};
};

}  // namespace tiny
