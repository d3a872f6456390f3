// SPDX-License-Identifier: MIT
#include "runtime/backend.h"

namespace tiny {

EncodedList::~EncodedList() = default;
Backend::~Backend() = default;

}  // namespace tiny
