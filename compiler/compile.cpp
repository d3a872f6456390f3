// SPDX-License-Identifier: MIT
#include "compiler/compile.h"

#include <rt_tiny/runtime/base/log.h>

#include <algorithm>
#include <unordered_set>

#include "compiler/llvm/plugin.h"
#include "compiler/llvm/render.h"
#include "compiler/lower/lower.h"
#include "compiler/opt/estimate.h"
#include "compiler/opt/heuristic.h"

namespace tiny {

namespace {

std::vector<ArgSlot> argument_slots(const lower::LinearCode& code) {
  std::vector<ArgSlot> slots;
  for (const KernelBuffer& b : code.buffers)
    slots.push_back(
        {ArgSlot::Kind::buffer, static_cast<uint32_t>(slots.size() * 8), b.written, b.read});
  for (int v = 0; v < code.variables; ++v)
    slots.push_back(
        {ArgSlot::Kind::variable, static_cast<uint32_t>(slots.size() * 8), false, false});
  return slots;
}

}  // namespace

RenderedKernel render(Kernel kernel, const Target& target, const CompileOptions& options) {
  verify(kernel);
  RenderedKernel out;
  const Work work = estimate(kernel);
  optimize(kernel, target, options.noopt);
  verify(kernel);
  if (log_enabled(3, "opt")) log_line("opt", print(kernel));
  const lower::LinearCode code = lower::lower(std::move(kernel), target);
  out.text = render_llvm(code, target, {options.fast_math});
  out.binary.name = code.name;
  out.binary.args = argument_slots(code);
  out.binary.kernarg_B = static_cast<uint32_t>(out.binary.args.size() * 8);
  if (target.is_cpu) out.binary.scratch_B = static_cast<uint64_t>(code.local_B());
  out.binary.groups[0] = LaunchExpr(code.groups());
  out.binary.group_size[0] = static_cast<uint32_t>(code.group_size);
  out.binary.flops = work.flops;
  out.binary.bytes = work.bytes;
  return out;
}

Binary assemble(RenderedKernel rendered, const Target& target) {
  const bool show = log_enabled(4, "compile");
  if (show) log_line("compile", rendered.text);
  LlvmOutput output = compile_llvm_ir(rendered.text, target, show);
  if (show) log_line("compile", output.assembly);
  rendered.binary.code = std::move(output.object);
  return std::move(rendered.binary);
}

Binary compile(Kernel kernel, const Target& target, const CompileOptions& options) {
  return assemble(render(std::move(kernel), target, options), target);
}

}  // namespace tiny
