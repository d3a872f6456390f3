// SPDX-License-Identifier: MIT
// The part of NVIDIA's driver API that nv_probe calls, declared here so that no CUDA header is
// needed to build it, and found in libcuda at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tiny::nv_capture {

using Result = int;                   ///< CUresult; 0 is success
using DeviceId = int;                 ///< CUdevice
using DeviceAddress = std::uint64_t;  ///< CUdeviceptr
struct Context;
struct Module;
struct Function;
struct Stream;
struct Graph;
struct GraphExec;

// CUdevice_attribute, CUfunction_attribute, CUstreamCaptureMode
inline constexpr int kMultiprocessorCount = 16, kComputeMajor = 75, kComputeMinor = 76,
                     kSharedPerBlockOptIn = 97;
inline constexpr int kFunctionLocalSize = 3, kFunctionMaxDynamicShared = 8;
inline constexpr int kCaptureGlobal = 0;

/// Functions of libcuda by the names of the header without `cu`, at the versions (`_v2`) that the
/// header selects.
struct Driver {
  Result (*init)(unsigned) = nullptr;
  Result (*driver_get_version)(int*) = nullptr;
  Result (*get_error_name)(Result, const char**) = nullptr;
  Result (*device_get_count)(int*) = nullptr;
  Result (*device_get)(DeviceId*, int) = nullptr;
  Result (*device_get_name)(char*, int, DeviceId) = nullptr;
  Result (*device_get_attribute)(int*, int, DeviceId) = nullptr;
  Result (*device_total_mem)(std::size_t*, DeviceId) = nullptr;
  Result (*primary_retain)(Context**, DeviceId) = nullptr;
  Result (*primary_release)(DeviceId) = nullptr;
  Result (*ctx_set_current)(Context*) = nullptr;
  Result (*ctx_synchronize)() = nullptr;
  Result (*module_load_data)(Module**, const void*) = nullptr;
  Result (*module_get_function)(Function**, Module*, const char*) = nullptr;
  Result (*module_unload)(Module*) = nullptr;
  Result (*func_set_attribute)(Function*, int, int) = nullptr;
  Result (*func_get_attribute)(int*, int, Function*) = nullptr;
  Result (*mem_alloc)(DeviceAddress*, std::size_t) = nullptr;
  Result (*mem_free)(DeviceAddress) = nullptr;
  Result (*mem_host_alloc)(void**, std::size_t, unsigned) = nullptr;
  Result (*mem_free_host)(void*) = nullptr;
  Result (*memset_d32)(DeviceAddress, unsigned, std::size_t) = nullptr;
  Result (*memcpy_htod)(DeviceAddress, const void*, std::size_t) = nullptr;
  Result (*memcpy_dtoh)(void*, DeviceAddress, std::size_t) = nullptr;
  Result (*memcpy_dtod)(DeviceAddress, DeviceAddress, std::size_t) = nullptr;
  Result (*memcpy_htod_async)(DeviceAddress, const void*, std::size_t, Stream*) = nullptr;
  Result (*memcpy_dtoh_async)(void*, DeviceAddress, std::size_t, Stream*) = nullptr;
  Result (*memcpy_dtod_async)(DeviceAddress, DeviceAddress, std::size_t, Stream*) = nullptr;
  Result (*stream_create)(Stream**, unsigned) = nullptr;
  Result (*stream_synchronize)(Stream*) = nullptr;
  Result (*stream_destroy)(Stream*) = nullptr;
  Result (*launch_kernel)(Function*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, Stream*, void**, void**) = nullptr;
  Result (*stream_begin_capture)(Stream*, int) = nullptr;
  Result (*stream_end_capture)(Stream*, Graph**) = nullptr;
  Result (*graph_instantiate)(GraphExec**, Graph*, unsigned long long) = nullptr;
  Result (*graph_launch)(GraphExec*, Stream*) = nullptr;
  Result (*graph_exec_destroy)(GraphExec*) = nullptr;
  Result (*graph_destroy)(Graph*) = nullptr;
};

/// The names of the functions in the library.
std::vector<std::string> driver_symbols();

/// Fills `driver` from the library; returns what is missing, or nothing. The library stays loaded.
std::string load_driver(const std::string& library, Driver& driver);

}  // namespace tiny::nv_capture
