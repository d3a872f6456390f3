// SPDX-License-Identifier: MIT
#include "models/interpose/program.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace tiny::interpose {
namespace {

#if defined(__x86_64__)
constexpr std::uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kMachine = EM_AARCH64;
#endif

class ProgramFile {
 public:
  explicit ProgramFile(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~ProgramFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  ProgramFile(const ProgramFile&) = delete;
  ProgramFile& operator=(const ProgramFile&) = delete;

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  std::size_t read(void* to, std::size_t size_B, std::uint64_t offset_B) const {
    const ssize_t count = ::pread(fd_, to, size_B, off_t(offset_B));
    return count < 0 ? 0 : std::size_t(count);
  }

 private:
  int fd_;
};

std::string in_search_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* const path = std::getenv("PATH");  // of the user's shell, not a setting of ours
  std::string_view left = path != nullptr ? path : "/usr/bin:/bin";
  while (!left.empty()) {
    const std::string_view folder = left.substr(0, left.find(':'));
    const std::string found = std::string(folder.empty() ? "." : folder) + "/" + name;
    if (::access(found.c_str(), X_OK) == 0) return found;
    left.remove_prefix(std::min(left.size(), folder.size() + 1));
  }
  return name;
}

/// The interpreter of "#!/path argument"; empty where there is none.
std::string interpreter_of(std::string_view start) {
  const std::string_view line = start.substr(2, start.find('\n') - 2);
  const std::size_t from = line.find_first_not_of(" \t");
  if (from == std::string_view::npos) return "";
  const std::size_t to = line.find_first_of(" \t\r", from);
  return std::string(line.substr(from, to == std::string_view::npos ? to : to - from));
}

bool has_privileges(const ProgramFile& file) {
  struct ::stat facts{};
  if (::fstat(file.fd(), &facts) != 0) return false;
  if ((facts.st_mode & (S_ISUID | S_ISGID)) != 0) return true;
  return ::fgetxattr(file.fd(), "security.capability", nullptr, 0) > 0;
}

bool has_loader(const ProgramFile& file, const Elf64_Ehdr& header) {
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return false;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    const std::uint64_t at = header.e_phoff + i * sizeof segment;
    if (file.read(&segment, sizeof segment, at) != sizeof segment) return false;
    if (segment.p_type == PT_INTERP) return true;
  }
  return false;
}

void judge_elf(const ProgramFile& file, ProgramCheck& check) {
  Elf64_Ehdr header{};
  const bool whole = file.read(&header, sizeof header, 0) == sizeof header;
  if (!whole || header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachine) {
    check.verdict = Verdict::foreign_elf;
    check.reason = check.program + ": an ELF file, but not of this machine";
  } else if (has_privileges(file)) {
    check.verdict = Verdict::setuid;
    check.reason = check.program +
                   ": has set-user-ID, set-group-ID or capabilities, so that preloading is ignored";
  } else if (!has_loader(file, header)) {
    check.verdict = Verdict::static_elf;
    check.reason = check.program + ": statically linked, so that nothing can be preloaded";
  } else {
    check.verdict = Verdict::fine;
    check.reason = check.program + ": dynamically linked";
  }
}

/// True where the file is a script: then `check.program` is its interpreter, still to be judged.
bool judge_file(ProgramCheck& check) {
  const ProgramFile file(check.program);
  char start[256] = "";
  const std::size_t length = file.is_open() ? file.read(start, sizeof start, 0) : 0;
  if (!file.is_open() || (length == 0 && errno == EISDIR)) {
    check.verdict = Verdict::unreadable;
    check.reason = check.program + ": " + std::strerror(errno);
  } else if (length >= SELFMAG && std::memcmp(start, ELFMAG, SELFMAG) == 0) {
    judge_elf(file, check);
  } else if (length > 2 && start[0] == '#' && start[1] == '!' && !check.script) {
    const std::string interpreter = interpreter_of({start, length});
    check.script = true;
    if (!interpreter.empty()) return check.program = interpreter, true;
    check.verdict = Verdict::not_elf;
    check.reason = check.program + ": a script without an interpreter";
  } else {
    check.verdict = Verdict::not_elf;
    check.reason = check.program + ": not an ELF program";
  }
  return false;
}

}  // namespace

ProgramCheck check_program(const std::string& path) {
  ProgramCheck check;
  check.program = in_search_path(path);
  if (judge_file(check)) judge_file(check);
  return check;
}

}  // namespace tiny::interpose
