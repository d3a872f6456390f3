// SPDX-License-Identifier: MIT
#include "models/amd/model.h"

#include <rt_tiny/runtime/base/error.h>

#include "models/amd/chip.h"
#include "models/amd/sysfs.h"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

namespace tiny::models::amd {
namespace {

constexpr size_t kReports = 1000;

}  // namespace

const char* kind_name(Report::Kind kind) {
  switch (kind) {
    case Report::Kind::ioctl:
      return "ioctl";
    case Report::Kind::packet:
      return "packet";
    case Report::Kind::doorbell:
      return "doorbell";
    case Report::Kind::fault:
      return "fault";
    case Report::Kind::shader:
      return "shader";
    case Report::Kind::wait:
      return "missing wait";
    case Report::Kind::acquire:
      return "missing acquire";
    case Report::Kind::release:
      return "missing release";
  }
  return "?";
}

// ---- GPU

Gpu::Gpu(Kernel& k, unsigned i)
    : kernel(k),
      index(i),
      id(gpu_id_of(i)),
      profile(k.prof),
      memory(i, k.order, k.shadow, k.options.race_checks,
             [&k](Report::Kind kind, std::string text) { k.report(kind, text); }),
      shaders(memory, k.prof, k.options.seed + i) {
  doorbells.size_B = kDoorbellSlice_B;
  doorbells.domain = Domain::doorbell;
  mmio.size_B = kPage_B;
  mmio.domain = Domain::mmio;
  k.file.allocate(doorbells);
  k.file.allocate(mmio);
}

// ---- kernel

Kernel::Kernel(Options o)
    : options(std::move(o)), prof(profile(options.target)), random(options.seed) {
  if (options.gpus > 16) throw UsageError("[model] more than 16 GPUs");
  for (unsigned i = 0; i < options.gpus; ++i) gpus.push_back(std::make_unique<Gpu>(*this, i));
  pid = int(::getpid());
}

Kernel::~Kernel() { halt(); }

void Kernel::halt() {
  {
    const std::lock_guard guard(lock);
    stop = true;
    work.notify_all();
  }
  if (thread.joinable()) thread.join();
}

CallerLock::CallerLock(Kernel& kernel) : lock_(kernel.lock, std::defer_lock) {
  ++kernel.callers;
  lock_.lock();
  --kernel.callers;
}

void Kernel::report(Report::Kind kind, const std::string& text) {
  if (options.print)
    std::fprintf(stderr, "tiny model amd:%s: %s: %s\n", prof.target.c_str(), kind_name(kind),
                 text.c_str());
  if (reports.size() < kReports) reports.push_back({kind, text});
}

int Kernel::refuse(int error, const std::string& text) {
  report(Report::Kind::ioctl, text);
  return -error;
}

int Kernel::injected(char type, unsigned nr) {
  for (auto f = failures.begin(); f != failures.end(); ++f) {
    if (f->type != type || f->nr != nr) continue;
    const int error = f->error;
    if (f->nth == 0) return -error;
    if (--f->nth > 0) continue;
    failures.erase(f);
    return -error;
  }
  return 0;
}

Gpu* Kernel::gpu_by_id(uint32_t id) {
  for (auto& gpu : gpus)
    if (gpu->id == id) return gpu.get();
  return nullptr;
}

Queue* Kernel::queue_by_id(uint32_t id) {
  for (auto& gpu : gpus)
    for (auto& queue : gpu->queues)
      if (queue->id == id) return queue.get();
  return nullptr;
}

std::shared_ptr<Bo> Kernel::bo(uint64_t handle) {
  const auto at = bos.find(handle);
  return at == bos.end() ? nullptr : at->second;
}

bool Kernel::is_event_slot(uint64_t va) const {
  return event_page && va >= event_page->va && va < event_page->va + event_page->size_B;
}

void Kernel::unmap_bo(Bo& bo, Gpu& gpu) {
  if (std::erase(bo.mapped, gpu.index) == 0) return;
  gpu.memory.map.remove(bo.va);
  gpu.memory.forget_translations();
}

void Kernel::free_bo(const std::shared_ptr<Bo>& bo) {
  for (auto& gpu : gpus) {
    unmap_bo(*bo, *gpu);
    if (bo->host) gpu->memory.forget_pages(bo->host, bo->host + bo->size_B);
  }
  if (bo->host) {
    shadow.forget(bo->host, bo->host + bo->size_B);
    order.forget(bo->host, bo->host + bo->size_B);
  }
  if (bo->domain == Domain::vram) gpus[bo->gpu]->vram_used_B -= bo->size_B;
  if (bo->domain == Domain::vram || bo->domain == Domain::gtt) file.free(*bo);
  bos.erase(bo->handle);
}

void Kernel::release_process() {
  for (auto& gpu : gpus) {
    gpu->queues.clear();
    gpu->vm_description = 0;
    gpu->svm.clear();
  }
  events.clear();
  event_page.reset();
  while (!bos.empty()) free_bo(std::shared_ptr<Bo>(bos.begin()->second));
  for (auto& gpu : gpus) {
    gpu->memory.map.clear();
    gpu->memory.forget_translations();
  }
  runtime_enabled = false;
}

void Kernel::memory_exception(Gpu& gpu, const MemoryFault& fault) {
  for (auto& queue : gpu.queues)
    if (queue->state == QueueState::running) queue->die("another queue of this GPU faulted");
  abi::MemoryException what{};
  what.not_present = fault.kind == AccessFault::not_present;
  what.read_only = fault.kind == AccessFault::read_only;
  what.no_execute = fault.kind == AccessFault::no_execute;
  what.va = fault.address / kPage_B * kPage_B;
  what.gpu_id = gpu.id;
  events.memory_fault(what);
}

// ---- the chip

bool Kernel::look_at_doorbells() {
  const uint64_t before = stats.doorbells;
  for (auto& gpu : gpus)
    for (auto& queue : gpu->queues) queue->take_doorbell();
  return stats.doorbells != before;
}

bool Kernel::resting() {
  if (options.delay_us == 0) return false;
  const auto now = std::chrono::steady_clock::now();
  if (look_at_doorbells()) rest_until = now + std::chrono::microseconds(options.delay_us);
  return now < rest_until && !events.awaited();
}

/// Queues take turns; where one starts is drawn.
bool Kernel::step() {
  look_at_doorbells();
  for (auto& gpu : gpus) {
    const size_t count = gpu->queues.size();
    if (count == 0) continue;
    const size_t first = random() % count;
    for (size_t i = 0; i < count; ++i)
      if (gpu->queues[(first + i) % count]->step() == Progress::some) return true;
  }
  return false;
}

void Kernel::start_thread() {
  if (options.stepped || thread.joinable()) return;
  thread = std::thread([this] { run_thread(); });
}

/// Doorbells are plain stores: while there are queues they are looked at again and again.
void Kernel::run_thread() {
  const interpose::PassThrough pass;
  constexpr auto kShort = std::chrono::microseconds(30), kLong = std::chrono::microseconds(200);
  constexpr int kBusyLooks = 200;
  int idle = 0;
  std::unique_lock guard(lock);
  while (!stop) {
    bool any = false, some = false;
    for (auto& gpu : gpus) any = any || !gpu->queues.empty();
    const bool rest = any && resting();
    for (int i = 0; i < 32 && any && !rest && !stop; ++i) {
      if (!step()) break;
      some = true;
      if (callers.load() > 0) break;
    }
    if (!any) {
      work.wait(guard);
      continue;
    }
    idle = some || rest ? 0 : idle + 1;
    guard.unlock();
    if (!some) std::this_thread::sleep_for(idle < kBusyLooks ? kShort : kLong);
    while (callers.load() > 0) std::this_thread::yield();
    guard.lock();
  }
}

// ---- model

Model::Model(Options options) : kernel_(std::make_unique<Kernel>(std::move(options))) {
  kernel_->tree = std::make_shared<interpose::Tree>();
  add_sysfs(*kernel_->tree, kernel_->options, kernel_->prof);
  kernel_->add_devices();
  for (const std::string& prefix : mounted_prefixes()) interpose::mount(prefix, kernel_->tree);
}

Model::~Model() {
  for (const std::string& prefix : mounted_prefixes()) interpose::unmount(prefix);
}

bool Model::step() {
  CallerLock lock(*kernel_);
  return kernel_->step();
}

bool Model::run(uint64_t limit) {
  for (uint64_t i = 0; i < limit; ++i)
    if (!step()) return true;
  return false;
}

void Model::fail_ioctl(char type, unsigned nr, unsigned nth, int error) {
  CallerLock lock(*kernel_);
  kernel_->failures.push_back({type, nr, nth, error});
}

void Model::clear_failures() {
  CallerLock lock(*kernel_);
  kernel_->failures.clear();
}

void Model::hang_next_dispatch(unsigned gpu) {
  CallerLock lock(*kernel_);
  kernel_->gpus.at(gpu)->hang_next = true;
}

void Model::fault_next_dispatch(unsigned gpu, uint64_t address) {
  CallerLock lock(*kernel_);
  kernel_->gpus.at(gpu)->fault_next = address;
}

void Model::tamper(Tamper hook) {
  CallerLock lock(*kernel_);
  kernel_->tamper = std::move(hook);
}

void Model::halt() { kernel_->halt(); }

void Model::pause(unsigned gpu, bool paused) {
  CallerLock lock(*kernel_);
  kernel_->gpus.at(gpu)->paused = paused;
}

void Model::reset_gpu(unsigned index, bool memory_lost) {
  CallerLock lock(*kernel_);
  Gpu& gpu = *kernel_->gpus.at(index);
  for (auto& queue : gpu.queues) {
    queue->in_flight.clear();
    queue->die("the GPU was reset");
  }
  abi::HwException what{};
  what.memory_lost = memory_lost;
  what.gpu_id = gpu.id;
  kernel_->events.gpu_reset(what);
}

std::vector<Report> Model::reports() const {
  CallerLock lock(*kernel_);
  return kernel_->reports;
}

void Model::clear_reports() {
  CallerLock lock(*kernel_);
  kernel_->reports.clear();
}

Stats Model::stats() const {
  CallerLock lock(*kernel_);
  return kernel_->stats;
}

const Options& Model::options() const { return kernel_->options; }
uint32_t Model::gpu_id(unsigned gpu) const { return kernel_->gpus.at(gpu)->id; }

}  // namespace tiny::models::amd
