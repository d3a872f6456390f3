// SPDX-License-Identifier: MIT
#include "runtime/hwqueue/dword_stream.h"

namespace tiny {

uint32_t DwordStream::add_fixed(uint64_t value) {
  fixed_.push_back(value);
  return static_cast<uint32_t>(fixed_.size() - 1);
}

void DwordStream::link() {
  if (fixed_.empty()) return;
  RelocationValues values;
  values.set(SourceKind::fixed, fixed_);
  relocations_ = fold(relocations_, bytes_of(words_), values);
  fixed_.clear();
}

}  // namespace tiny
