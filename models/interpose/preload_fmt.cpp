// SPDX-License-Identifier: MIT
// The formatter's functions that a preload library needs, compiled into it: libfmt.so would bring
// the shared C++ library with it, whose relocation costs every program that is preloaded about two
// million instructions.
#define FMT_HEADER_ONLY
#define FMT_STATIC_THOUSANDS_SEPARATOR ','  // no locale, hence none of the library's facets
#include <fmt/format.h>

namespace {

// To take an inline function's address is to compile it.
[[gnu::used]] std::string (*const kFormat)(fmt::string_view, fmt::format_args) = fmt::vformat;
[[gnu::used]] void (*const kPrint)(std::FILE*, fmt::string_view, fmt::format_args) = fmt::vprint;

}  // namespace
