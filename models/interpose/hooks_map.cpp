// SPDX-License-Identifier: MIT
// Hooks of mappings: what of a served or observed file is mapped where.
#undef _FILE_OFFSET_BITS
#include "models/interpose/hook.h"
#include "models/interpose/tree.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>

namespace tiny::interpose {
namespace {

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

void* to_pointer(Result result, int saved) {
  errno = result < 0 ? int(-result) : saved;
  return result < 0 ? MAP_FAILED : reinterpret_cast<void*>(std::uintptr_t(result));
}

/// The observers of some pieces, each with the parts that are its own.
std::vector<std::pair<std::shared_ptr<Observer>, std::vector<MappedPart>>> by_observer(
    const std::vector<TakenPiece>& pieces) {
  std::vector<std::pair<std::shared_ptr<Observer>, std::vector<MappedPart>>> groups;
  for (const TakenPiece& piece : pieces) {
    const auto& observer = piece.piece.description->observer;
    if (observer == nullptr) continue;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& g) { return g.first == observer; });
    if (group == groups.end()) group = groups.insert(group, {observer, {}});
    group->second.push_back(piece.part());
  }
  return groups;
}

/// Tells every observer that a call meets, each of its own parts; `body` runs once.
Result tell_all(const std::vector<TakenPiece>& pieces, Call& call,
                const std::function<Result()>& body) {
  const auto groups = by_observer(pieces);
  const auto describe = [&](const auto& group) {
    call.parts = group.second;
    call.description = group.second.front().description;
  };
  for (const auto& group : groups) {
    describe(group);
    guarded("Observer::before", [&] { return group.first->before(call), 0; });
  }
  call.result = guarded(call.function, body);
  for (const auto& group : groups) {
    describe(group);
    guarded("Observer::after", [&] { return group.first->after(call), 0; });
  }
  return call.result;
}

/// The files of served pieces learn that these are gone.
void tell_files(const std::vector<TakenPiece>& pieces) {
  for (const TakenPiece& piece : pieces)
    if (piece.piece.description->file != nullptr)
      guarded("unmapped", [&] { return piece.piece.description->file->unmapped(piece.part()), 0; });
}

/// `unmap` removes [address, +length), by unmapping it or by mapping something else there. The
/// pieces leave the table first: afterwards another thread may already have mapped the place anew.
Result remove_range(const char* function, void* address, std::size_t length_B,
                    const std::function<Result()>& unmap) {
  Call call{.op = Op::munmap, .function = function, .address = address, .length_B = length_B};
  return tell_all(pieces_in(number(address), length_B), call, [&] {
    trap_unmapped(number(address), length_B);
    const std::vector<TakenPiece> taken = take_pieces(number(address), length_B);
    const Result result = unmap();
    if (result < 0)
      put_back(taken);
    else
      tell_files(taken);
    return result;
  });
}

struct MapCall {
  MapRequest request;
  int fd = -1;

  void* make() const {
    return real::mmap(request.address, request.length_B, request.prot, request.flags, fd,
                      off_t(request.offset_B));
  }
  bool replaces() const {
    return (request.flags & MAP_FIXED) != 0 &&
           (request.flags & MAP_FIXED_NOREPLACE) != MAP_FIXED_NOREPLACE &&
           maybe_mapped(request.address, request.length_B);
  }
};

/// The mapping itself, of a file of ours or of any other.
Result map_file(const MapCall& map, const DescriptionRef& description, std::uint64_t& mapping) {
  const bool handled = description != nullptr && description->file != nullptr;
  if (description != nullptr && description->node != nullptr && description->node->is(S_IFDIR))
    return -ENODEV;
  const Result result = handled ? description->file->map(map.request) : from_libc(map.make());
  if (result < 0 || description == nullptr) return result;
  if (!handled && description->observer == nullptr) return result;
  mapping = next_mapping_id();
  add_piece(std::uintptr_t(result),
            {page_up(map.request.length_B), map.request.offset_B, mapping, description});
  return result;
}

[[gnu::noinline]] void* mmap_slow(const MapCall& map) {
  const int saved = errno;
  const bool ours = (map.request.flags & MAP_ANONYMOUS) == 0 && maybe_ours(map.fd);
  const bool replaces = map.replaces();
  const Guard guard;
  const DescriptionRef description = ours ? find_description(map.fd) : nullptr;
  Call call{
      .op = Op::mmap,
      .function = "mmap",
      .path = description != nullptr ? std::string_view(description->path) : std::string_view(),
      .description = description != nullptr ? description->id : 0,
      .fd = map.fd,
      .address = map.request.address,
      .length_B = map.request.length_B,
      .prot = map.request.prot,
      .flags = map.request.flags,
      .offset_B = map.request.offset_B};
  Observer* const observer = description != nullptr ? description->observer.get() : nullptr;
  return to_pointer(
      run_call(observer, call,
               [&]() -> Result {
                 const auto body = [&] { return map_file(map, description, call.mapping); };
                 return replaces
                            ? remove_range("mmap", map.request.address, map.request.length_B, body)
                            : body();
               }),
      saved);
}

// ---- munmap, mremap, mprotect ----

[[gnu::noinline]] int munmap_slow(void* address, std::size_t length_B) {
  const int saved = errno;
  const Guard guard;
  return to_libc(remove_range("munmap", address, length_B,
                              [&] { return from_libc(real::munmap(address, length_B)); }),
                 saved);
}

/// Pieces at their new place: what lies beyond the new length is gone, what is grown belongs to the
/// last.
void move_pieces(const std::vector<TakenPiece>& pieces, std::uintptr_t from, std::uintptr_t to,
                 std::size_t old_B, std::size_t new_B) {
  for (const TakenPiece& piece : pieces) {
    const std::size_t start = piece.address - from;
    if (start >= new_B) continue;
    Piece moved = piece.piece;
    const bool last = start + moved.length_B >= old_B;
    moved.length_B = last ? new_B - start : std::min(moved.length_B, new_B - start);
    add_piece(to + start, std::move(moved));
  }
}

struct RemapCall {
  void* old;
  std::size_t old_B, new_B;
  int flags;
  void* target;
};

Result remap_range(const RemapCall& remap) {
  const auto body = [&] {
    return from_libc(real::mremap(remap.old, remap.old_B, remap.new_B, remap.flags, remap.target));
  };
  trap_unmapped(number(remap.old), remap.old_B);
  const std::vector<TakenPiece> taken = take_pieces(number(remap.old), remap.old_B);
  const bool replaces =
      (remap.flags & MREMAP_FIXED) != 0 && maybe_mapped(remap.target, remap.new_B);
  const Result result = replaces ? remove_range("mremap", remap.target, remap.new_B, body) : body();
  if (result < 0) {
    put_back(taken);
    return result;
  }
  if (std::uintptr_t(result) != number(remap.old)) tell_files(taken);
  move_pieces(taken, number(remap.old), std::uintptr_t(result), page_up(remap.old_B),
              page_up(remap.new_B));
  return result;
}

[[gnu::noinline]] void* mremap_slow(const RemapCall& remap) {
  const int saved = errno;
  const Guard guard;
  const std::vector<TakenPiece> met = pieces_in(number(remap.old), remap.old_B);
  const bool grows = remap.new_B > remap.old_B;
  const bool served = std::any_of(met.begin(), met.end(), [](const TakenPiece& p) {
    return p.piece.description->file != nullptr;
  });
  Call call{.op = Op::mremap,
            .function = "mremap",
            .address = remap.old,
            .new_address = remap.target,
            .length_B = remap.old_B,
            .new_length_B = remap.new_B,
            .flags = remap.flags};
  return to_pointer(tell_all(met, call,
                             [&]() -> Result {
                               // A device's mapping cannot grow (VM_DONTEXPAND).
                               return served && grows ? -EFAULT : remap_range(remap);
                             }),
                    saved);
}

[[gnu::noinline]] int mprotect_slow(void* address, std::size_t length_B, int prot) {
  const int saved = errno;
  const Guard guard;
  Call call{.op = Op::mprotect,
            .function = "mprotect",
            .address = address,
            .length_B = length_B,
            .prot = prot};
  return to_libc(tell_all(pieces_in(number(address), length_B), call,
                          [&]() -> Result {
                            int result = 0;
                            if (!trap_protect(number(address), length_B, prot, result))
                              result = real::mprotect(address, length_B, prot);
                            return from_libc(result);
                          }),
                 saved);
}

}  // namespace
}  // namespace tiny::interpose

using namespace tiny::interpose;

TINY_HOOK(void*, mmap, void* address, size_t length, int prot, int flags, int fd, off_t offset) {
  const MapCall map{{address, length, prot, flags, std::uint64_t(offset)}, fd};
  if ((!maybe_ours(fd) || (flags & MAP_ANONYMOUS) != 0) && !map.replaces()) [[likely]]
    return real::mmap(address, length, prot, flags, fd, offset);
  return mmap_slow(map);
}
TINY_HOOK(void*, mmap64, void* address, size_t length, int prot, int flags, int fd, off_t offset) {
  return hook_mmap(address, length, prot, flags, fd, offset);
}
TINY_HOOK(int, munmap, void* address, size_t length) {
  if (!maybe_mapped(address, length)) [[likely]]
    return real::munmap(address, length);
  return munmap_slow(address, length);
}
TINY_HOOK(void*, mremap, void* old, size_t old_length, size_t length, int flags, void* target) {
  const bool replaces = (flags & MREMAP_FIXED) != 0 && maybe_mapped(target, length);
  if (!maybe_mapped(old, old_length) && !replaces) [[likely]]
    return real::mremap(old, old_length, length, flags, target);
  return mremap_slow({old, old_length, length, flags, target});
}
TINY_HOOK(int, mprotect, void* address, size_t length, int prot) {
  if (!maybe_mapped(address, length)) [[likely]]
    return real::mprotect(address, length, prot);
  return mprotect_slow(address, length, prot);
}
