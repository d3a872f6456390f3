// SPDX-License-Identifier: MIT
// The LLVM plugin: the only translation unit that includes LLVM. Knows nothing of the library.
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

#include "compiler/llvm/plugin_abi.h"

#if LLVM_VERSION_MAJOR < 19
#error "LLVM 19 or newer is required"
#endif

// Declares the initialisers of every target this LLVM was built with.
extern "C" {
#define LLVM_TARGET(name)                  \
  void LLVMInitialize##name##TargetInfo(); \
  void LLVMInitialize##name##Target();     \
  void LLVMInitialize##name##TargetMC();
#include <llvm/Config/Targets.def>
#define LLVM_ASM_PRINTER(name) void LLVMInitialize##name##AsmPrinter();
#include <llvm/Config/AsmPrinters.def>
#define LLVM_ASM_PARSER(name) void LLVMInitialize##name##AsmParser();
#include <llvm/Config/AsmParsers.def>
}

namespace {

using Failure = std::runtime_error;

const char* target_name(const llvm::Triple& triple) {
  if (triple.isX86()) return "X86";
  if (triple.isAArch64()) return "AArch64";
  if (triple.isAMDGPU()) return "AMDGPU";
  if (triple.isNVPTX()) return "NVPTX";
  throw Failure("no code generator is wired for triple \"" + triple.str() + "\"");
}

/// Only the one asked for: all of them cost several milliseconds.
void initialize_target(const llvm::Triple& triple) {
  static std::mutex mutex;  // LLVM's registry is a plain list
  const std::string name = target_name(triple);
  std::lock_guard lock(mutex);
#define LLVM_TARGET(row)               \
  if (name == #row) {                  \
    LLVMInitialize##row##TargetInfo(); \
    LLVMInitialize##row##Target();     \
    LLVMInitialize##row##TargetMC();   \
  }
#include <llvm/Config/Targets.def>
#define LLVM_ASM_PRINTER(row) \
  if (name == #row) LLVMInitialize##row##AsmPrinter();
#include <llvm/Config/AsmPrinters.def>
#define LLVM_ASM_PARSER(row) \
  if (name == #row) LLVMInitialize##row##AsmParser();  // for inline assembly
#include <llvm/Config/AsmParsers.def>
}

std::string host_features() {
  std::string text;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    text +=
        (text.empty() ? "" : ",") + std::string(feature.second ? "+" : "-") + feature.first().str();
  return text;
}

/// Refuses what LLVM would only complain about on stderr.
void check_names(const llvm::Target& target, const llvm::Triple& triple, llvm::StringRef cpu,
                 llvm::StringRef features) {
#if LLVM_VERSION_MAJOR >= 21
  const llvm::Triple& name = triple;
#else
  const std::string& name = triple.str();
#endif
  const std::unique_ptr<llvm::MCSubtargetInfo> info(target.createMCSubtargetInfo(name, "", ""));
  if (!info) throw Failure("LLVM knows no processors of " + triple.str());
  if (!cpu.empty() && !info->isCPUStringValid(cpu))
    throw Failure("unknown cpu \"" + cpu.str() + "\" for " + triple.str());
  llvm::SmallVector<llvm::StringRef, 64> pieces;
  features.split(pieces, ',', -1, false);
  for (llvm::StringRef piece : pieces)
    if (llvm::none_of(info->getAllProcessorFeatures(),
                      [&](const auto& known) { return piece.drop_front() == known.Key; }))
      throw Failure("unknown feature \"" + piece.str() + "\" for " + triple.str());
}

/// The signed pieces of the job's features; others are fingerprints for cache keys.
std::string signed_features(llvm::StringRef features) {
  std::string text;
  llvm::SmallVector<llvm::StringRef, 16> pieces;
  features.split(pieces, ',', -1, false);
  for (llvm::StringRef piece : pieces)
    if (piece.starts_with("+") || piece.starts_with("-"))
      text += (text.empty() ? "" : ",") + piece.str();
  return text;
}

std::unique_ptr<llvm::TargetMachine> make_machine(const TinyLlvmJob& job,
                                                  const llvm::Triple& triple) {
  initialize_target(triple);
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple.str(), error);
  if (!target) throw Failure(error);
  const bool native = std::strcmp(job.cpu, "native") == 0;
  const std::string cpu = native ? llvm::sys::getHostCPUName().str() : job.cpu;
  std::string features = signed_features(job.features);
  check_names(*target, triple, cpu, features);
  if (native) features = host_features() + (features.empty() ? "" : ",") + features;
  llvm::TargetOptions options;
  // a*b+c contracts where the text says `contract`, nowhere else.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.FunctionSections = options.DataSections = false;
#if LLVM_VERSION_MAJOR >= 21
  const llvm::Triple& name = triple;
#else
  const std::string& name = triple.str();
#endif
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(name, cpu, features, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  if (!machine) throw Failure("LLVM made no target machine for " + triple.str());
  return machine;
}

/// Collects what LLVM would print: errors become ours, warnings are dropped.
struct Diagnostics : llvm::DiagnosticHandler {
  explicit Diagnostics(std::string& errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream stream(errors_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    stream << "\n";
    return true;
  }
  std::string& errors_;
};

std::unique_ptr<llvm::Module> parse_module(const TinyLlvmJob& job, llvm::LLVMContext& context,
                                           const llvm::TargetMachine& machine) {
  const std::string layout = machine.createDataLayout().getStringRepresentation();
  const llvm::MemoryBufferRef buffer(llvm::StringRef(job.text, job.text_B), "kernel.ll");
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssembly(
      buffer, error, context, nullptr,
      [&](llvm::StringRef, llvm::StringRef) -> std::optional<std::string> { return layout; });
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (!module) {
    error.print(nullptr, stream, false);
    throw Failure(stream.str());
  }
  module->setTargetTriple(machine
                              .getTargetTriple()
#if LLVM_VERSION_MAJOR < 21
                              .str()
#endif
  );
  if (llvm::verifyModule(*module, &stream)) throw Failure("invalid IR: " + stream.str());
  return module;
}

void run_passes(llvm::Module& module, llvm::TargetMachine& machine, const char* passes) {
  if (!*passes) return;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager manager;
  if (llvm::Error error = builder.parsePassPipeline(manager, passes))
    throw Failure("pass pipeline: " + llvm::toString(std::move(error)));
  manager.run(module, modules);
}

llvm::SmallVector<char, 0> emit(llvm::Module& module, llvm::TargetMachine& machine,
                                llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager manager;
  if (machine.addPassesToEmitFile(manager, stream, nullptr, type))
    throw Failure("the target cannot emit this kind of file");
  manager.run(module);
  return bytes;
}

/// malloc'd and zero-terminated.
char* duplicate(const char* data, size_t size_B) {
  char* copy = static_cast<char*>(std::malloc(size_B + 1));
  if (!copy) throw std::bad_alloc();
  if (size_B) std::memcpy(copy, data, size_B);
  copy[size_B] = 0;
  return copy;
}

void compile(const TinyLlvmJob& job, TinyLlvmResult& result) {
  if (job.abi != TINY_LLVM_ABI) throw Failure("the plugin's interface has another version");
  const llvm::Triple triple(llvm::Triple::normalize(job.triple));
  std::unique_ptr<llvm::TargetMachine> machine = make_machine(job, triple);
  std::string errors;
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<Diagnostics>(errors));
  std::unique_ptr<llvm::Module> module = parse_module(job, context, *machine);
  run_passes(*module, *machine, job.passes);
  // Code generation changes the module, so the second emission works on a copy.
  const bool text_only = triple.isNVPTX();
  if (job.want_asm && !text_only) {
    std::unique_ptr<llvm::Module> copy = llvm::CloneModule(*module);
    const auto text = emit(*copy, *machine, llvm::CodeGenFileType::AssemblyFile);
    result.assembly = duplicate(text.data(), text.size());
  }
  const auto type =
      text_only ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  const auto bytes = emit(*module, *machine, type);
  if (!errors.empty()) throw Failure(errors);
  if (job.want_asm && text_only) result.assembly = duplicate(bytes.data(), bytes.size());
  result.object = reinterpret_cast<uint8_t*>(duplicate(bytes.data(), bytes.size()));
  result.object_B = bytes.size();
}

}  // namespace

#define TINY_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))

TINY_PLUGIN_EXPORT uint32_t tiny_llvm_abi() { return TINY_LLVM_ABI; }

TINY_PLUGIN_EXPORT const char* tiny_llvm_version() { return LLVM_VERSION_STRING; }

TINY_PLUGIN_EXPORT void tiny_llvm_release(TinyLlvmResult* result) {
  std::free(result->object);
  std::free(result->assembly);
  std::free(result->error);
  *result = {};
}

TINY_PLUGIN_EXPORT int tiny_llvm_compile(const TinyLlvmJob* job, TinyLlvmResult* result) {
  *result = {};
  try {
    compile(*job, *result);
    return 0;
  } catch (const std::exception& e) {
    tiny_llvm_release(result);
    result->error = strdup(e.what());
    return 1;
  }
}
