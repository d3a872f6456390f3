// SPDX-License-Identifier: MIT
#include "tools/nv_capture/cuda_driver.h"

#include <dlfcn.h>
#include <cstring>

namespace tiny::nv_capture {
namespace {

/// Calls `visit(name, slot)` for every function; a slot is a pointer of one of the types above.
template <typename Visit>
void for_each_symbol(Driver& d, Visit visit) {
  visit("cuInit", d.init);
  visit("cuDriverGetVersion", d.driver_get_version);
  visit("cuGetErrorName", d.get_error_name);
  visit("cuDeviceGetCount", d.device_get_count);
  visit("cuDeviceGet", d.device_get);
  visit("cuDeviceGetName", d.device_get_name);
  visit("cuDeviceGetAttribute", d.device_get_attribute);
  visit("cuDeviceTotalMem_v2", d.device_total_mem);
  visit("cuDevicePrimaryCtxRetain", d.primary_retain);
  visit("cuDevicePrimaryCtxRelease_v2", d.primary_release);
  visit("cuCtxSetCurrent", d.ctx_set_current);
  visit("cuCtxSynchronize", d.ctx_synchronize);
  visit("cuModuleLoadData", d.module_load_data);
  visit("cuModuleGetFunction", d.module_get_function);
  visit("cuModuleUnload", d.module_unload);
  visit("cuFuncSetAttribute", d.func_set_attribute);
  visit("cuFuncGetAttribute", d.func_get_attribute);
  visit("cuMemAlloc_v2", d.mem_alloc);
  visit("cuMemFree_v2", d.mem_free);
  visit("cuMemHostAlloc", d.mem_host_alloc);
  visit("cuMemFreeHost", d.mem_free_host);
  visit("cuMemsetD32_v2", d.memset_d32);
  visit("cuMemcpyHtoD_v2", d.memcpy_htod);
  visit("cuMemcpyDtoH_v2", d.memcpy_dtoh);
  visit("cuMemcpyDtoD_v2", d.memcpy_dtod);
  visit("cuMemcpyHtoDAsync_v2", d.memcpy_htod_async);
  visit("cuMemcpyDtoHAsync_v2", d.memcpy_dtoh_async);
  visit("cuMemcpyDtoDAsync_v2", d.memcpy_dtod_async);
  visit("cuStreamCreate", d.stream_create);
  visit("cuStreamSynchronize", d.stream_synchronize);
  visit("cuStreamDestroy_v2", d.stream_destroy);
  visit("cuLaunchKernel", d.launch_kernel);
  visit("cuStreamBeginCapture_v2", d.stream_begin_capture);
  visit("cuStreamEndCapture", d.stream_end_capture);
  visit("cuGraphInstantiateWithFlags", d.graph_instantiate);
  visit("cuGraphLaunch", d.graph_launch);
  visit("cuGraphExecDestroy", d.graph_exec_destroy);
  visit("cuGraphDestroy", d.graph_destroy);
}

}  // namespace

std::vector<std::string> driver_symbols() {
  std::vector<std::string> names;
  Driver driver;
  for_each_symbol(driver, [&](const char* name, auto&) { names.emplace_back(name); });
  return names;
}

std::string load_driver(const std::string& library, Driver& driver) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return dlerror();
  std::string missing;
  for_each_symbol(driver, [&](const char* name, auto& slot) {
    void* symbol = dlsym(handle, name);
    if (!symbol) missing += (missing.empty() ? "no " : ", ") + std::string(name);
    std::memcpy(&slot, &symbol, sizeof symbol);  // an object pointer may not be cast to a function
  });
  return missing.empty() ? missing : missing + " in " + library;
}

}  // namespace tiny::nv_capture
