// SPDX-License-Identifier: MIT
// The files of /sys, /proc and /dev that say which GPUs there are.
#pragma once

#include "models/amd/model.h"
#include "models/amd/profile.h"
#include "models/interpose/interpose.h"

namespace tiny::models::amd {

constexpr unsigned kFirstRenderMinor = 128;

/// gpu_id of the nth GPU, 16 bits as in mmap offsets.
uint32_t gpu_id_of(unsigned gpu);
uint64_t vram_of(const Options& options, const Profile& profile);

/// Adds topology, DRM classes and module files; the devices themselves are added by the caller.
void add_sysfs(interpose::Tree& tree, const Options& options, const Profile& profile);

/// The prefixes that a tree with these files takes over.
std::vector<std::string> mounted_prefixes();

}  // namespace tiny::models::amd
