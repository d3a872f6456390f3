// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/program.h>

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/device.h>

#include <cstring>

namespace tiny {

ProgramCode::~ProgramCode() = default;

Program::Program(std::shared_ptr<Device> device, Binary binary, std::shared_ptr<ProgramCode> code,
                 bool has_layout)
    : device_(std::move(device)),
      binary_(std::move(binary)),
      code_(std::move(code)),
      has_layout_(has_layout) {}

Arguments& Arguments::add(const Buffer& buffer) {
  if (!buffer) throw UsageError("[args] the buffer is empty");
  Argument a;
  a.kind = Argument::Kind::buffer;
  a.buffer = buffer;
  values_.push_back(std::move(a));
  return *this;
}

Arguments& Arguments::add(const Symbol& symbol) {
  Argument a;
  a.kind = Argument::Kind::symbol;
  a.symbol = symbol;
  values_.push_back(std::move(a));
  return *this;
}

Arguments& Arguments::add_scalar(const void* bytes, size_t size_B, bool is_integer,
                                 int64_t integer) {
  Argument a;
  std::memcpy(&a.bits, bytes, size_B);  // little-endian hosts only
  a.scalar_B = static_cast<uint8_t>(size_B);
  a.is_integer = is_integer;
  a.integer = is_integer ? integer : 0;
  values_.push_back(std::move(a));
  return *this;
}

}  // namespace tiny
