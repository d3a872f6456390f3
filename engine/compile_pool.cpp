// SPDX-License-Identifier: MIT
#include "engine/compile_pool.h"

#include <rt_tiny/runtime/base/file.h>
#include <rt_tiny/runtime/base/hash.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <rt_tiny/runtime/base/log.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "compiler/compile.h"
#include "compiler/llvm/plugin.h"
#include "compiler/schedule/clone.h"
#include "engine/object_cache.h"

namespace tiny::engine {
namespace {

struct Programs {
  std::mutex mutex;
  std::unordered_map<Hash128, std::weak_ptr<Program>> loaded;
  CompileStats stats;
};
Programs& programs() {
  static Programs p;
  return p;
}

/// Everything the code depends on, without rendering it.
Hash128 kernel_key(const Kernel& kernel, const Device& device) {
  Hasher hasher;
  hasher.add(print(kernel)).add(device.name()).add(device.target().key());
  return hasher.add(knobs().noopt).add(knobs().fast_math).digest();
}

Hash128 object_key(const std::string& text, const Target& target) {
  return Hasher().add(text).add(target.key()).add(llvm_version_key()).digest();
}

/// For process replay: the text of every kernel, named by content.
void record_text(const RenderedKernel& rendered) {
  const std::string& folder = knobs().record_kernels;
  if (folder.empty()) return;
  std::error_code exists;
  std::filesystem::create_directories(folder, exists);
  const std::string path =
      folder + "/" + hash128(rendered.text).hex() + "_" + rendered.binary.name + ".ll";
  write_file_atomic(path, std::span(reinterpret_cast<const uint8_t*>(rendered.text.data()),
                                    rendered.text.size()));
}

/// Machine code from the disk cache, else from LLVM.
std::shared_ptr<Program> build(const Kernel& kernel, const std::shared_ptr<Device>& device) {
  const Target& target = device->target();
  RenderedKernel rendered =
      render(clone_kernel(kernel), target, {knobs().noopt, knobs().fast_math});
  record_text(rendered);
  const Hash128 key = object_key(rendered.text, target);
  if (auto object = object_cache().find(key)) {
    rendered.binary.code = std::move(*object);
    auto program = device->load(rendered.binary);
    const std::lock_guard lock(programs().mutex);
    ++programs().stats.from_disk;
    return program;
  }
  const Binary binary = assemble(std::move(rendered), target);
  object_cache().store(key, binary.code);
  auto program = device->load(binary);
  const std::lock_guard lock(programs().mutex);
  ++programs().stats.compiled;
  return program;
}

std::shared_ptr<Program> find(const Hash128& key) {
  const std::lock_guard lock(programs().mutex);
  const auto it = programs().loaded.find(key);
  auto program = it == programs().loaded.end() ? nullptr : it->second.lock();
  if (program) ++programs().stats.reused;
  return program;
}

/// Runs job(i) for i below count on up to `threads` threads; rethrows the first exception.
template <class Job>
void parallel(size_t count, size_t threads, Job job) {
  std::atomic<size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;) {
      try {
        job(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  std::vector<std::thread> helpers;
  for (size_t t = 1; t < std::min(count, threads); ++t) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

std::vector<std::shared_ptr<Program>> compile_kernels(std::span<const Kernel* const> kernels,
                                                      const std::shared_ptr<Device>& device) {
  struct Job {
    Hash128 key;
    const Kernel* kernel;
    std::shared_ptr<Program> program;
  };
  std::vector<Job> jobs;
  std::unordered_map<Hash128, size_t> number;
  std::vector<size_t> job_of;
  for (const Kernel* kernel : kernels) {
    const Hash128 key = kernel_key(*kernel, *device);
    const auto [it, fresh] = number.emplace(key, jobs.size());
    if (fresh) jobs.push_back({key, kernel, find(key)});
    job_of.push_back(it->second);
  }
  std::vector<Job*> missing;
  for (Job& job : jobs)
    if (!job.program) missing.push_back(&job);
  const size_t threads = std::max<size_t>(1, size_t(knobs().compile_threads));
  parallel(missing.size(), threads,
           [&](size_t i) { missing[i]->program = build(*missing[i]->kernel, device); });
  {
    const std::lock_guard lock(programs().mutex);
    std::erase_if(programs().loaded, [](const auto& entry) { return entry.second.expired(); });
    for (const Job* job : missing) programs().loaded[job->key] = job->program;
  }
  std::vector<std::shared_ptr<Program>> result;
  for (const size_t job : job_of) result.push_back(jobs[job].program);
  return result;
}

CompileStats compile_stats() {
  const std::lock_guard lock(programs().mutex);
  return programs().stats;
}

void clear_programs() {
  const std::lock_guard lock(programs().mutex);
  programs().loaded.clear();
}

}  // namespace tiny::engine
