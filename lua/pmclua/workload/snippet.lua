--- snippet.lua: a line of assembly or C as a kernel: unrolled in a loop that does nothing else.
--
-- An iteration is one turn of the loop: `unroll` copies of the snippet, and the loop's own two
-- instructions, which more copies make small. Assembly may use every general and vector register
-- but the stack pointer, the frame pointer and the loop's counter (r15, x28); r14 (x27) points at 64 KiB
-- of zeroed memory of its own.

local check = require "pmclua.workload.check"
local explain = require "pmclua.explain"
local kernel = require "pmclua.workload.kernel"

local M = {}

local MACHINES = {
  x64 = {
    loop = [[dec %%r15\n\tjnz 1b]], counter = "r15", memory = "r14",
    clobbers = '"rax","rbx","rcx","rdx","rsi","rdi","r8","r9","r10","r11","r12","r13",'
      .. '"xmm0","xmm1","xmm2","xmm3",'
      .. '"xmm4","xmm5","xmm6","xmm7","xmm8","xmm9","xmm10","xmm11","xmm12","xmm13","xmm14","xmm15"',
    syntaxes = { intel = { ".intel_syntax noprefix", ".att_syntax prefix" }, att = { "", "" } },
    syntax = "intel",
  },
  arm64 = {
    loop = [[sub x28, x28, #1\n\tcbnz x28, 1b]], counter = "x28", memory = "x27",
    clobbers = '"x0","x1","x2","x3","x4","x5","x6","x7","x8","x9","x10","x11","x12","x13",'
      .. '"x14","x15","x16","x17",'
      .. '"x19","x20","x21","x22","x23","x24","x25","x26","v0","v1","v2","v3","v4","v5","v6","v7"',
    syntaxes = { gnu = { "", "" } }, syntax = "gnu",
  },
}

local ASM = [[
#include <pmclua_kernel.h>
#define TEXT(x) #x
#define STRING(x) TEXT(x)
void snippet(void *state, uint64_t iterations)
{
    static char memory[65536] __attribute__((aligned(4096)));
    register uint64_t counter __asm__("$counter") = iterations;
    register char *place __asm__("$memory") = memory;
    (void)state;
    if (iterations == 0) return;
    __asm__ volatile("$before\n\t" $init "$after\n\t.balign 64\n1:\n\t$before\n\t"
      ".rept " STRING(PMCLUA_UNROLL) "\n\t"
                     $body ".endr\n\t$after\n\t$loop"
                     : "+r"(counter), "+r"(place) : : "memory", "cc", $clobbers);
}
]]

local C = [[
#include <stdint.h>
#include <string.h>
#include <math.h>
#include <pmclua_kernel.h>
$init_outside
void snippet(void *state, uint64_t iterations)
{
    (void)state;
#line 1 "init"
    $init
    ;
    while (iterations--) {
        #pragma GCC unroll 65534
        for (int pmclua_i = 0; pmclua_i < PMCLUA_UNROLL; pmclua_i++) {
#line 1 "snippet"
            $body;
            __asm__ volatile("" : : : "memory");
        }
    }
}
]]

--- Lines of assembly as C strings; a bare % is an operand sign there.
local function asm_text(text)
  local lines = {}
  for line in (text:gsub(";", "\n") .. "\n"):gmatch "(.-)\n" do
    if line:match "%S" then
      lines[#lines + 1] = ("%q"):format((line:gsub("%%", "%%%%"))):gsub('"$', '\\n\\t"')
    end
  end
  return table.concat(lines, " ")
end

local function asm_code(spec)
  local machine = MACHINES[jit.arch]
  if not machine then explain.misuse("pmc.snippet knows no assembly of this machine, " .. jit.arch, 4) end
  local syntax = machine.syntaxes[spec.syntax or machine.syntax]
  if not syntax then
    local known = check.keys(machine.syntaxes)
    explain.misuse(("syntax is %s here, not '%s'"):format(table.concat(known, " or "), spec.syntax), 4)
  end
  local parts = { counter = machine.counter, memory = machine.memory, before = syntax[1], after = syntax[2],
    clobbers = machine.clobbers, loop = machine.loop, init = asm_text(spec.init or ""),
      body = asm_text(spec.asm) }
  return (ASM:gsub("%$(%a+)", parts))
end

local DEFAULT_UNROLL = 100

--- A snippet as a kernel.
---@param spec table { asm = "add rax, rbx" | c = "x += y", init =, syntax = "intel"|"att", unroll = 100, name =, cflags = }
---   unroll: a number, or "{FACTOR}"; init: run once before the loop (assembly), or declarations (C)
---@return pmclua.Kernel
function M.new(spec)
  check.options("pmc.snippet", spec, { asm = "string", c = "string", init = "string", syntax = "string",
    unroll = "number|string", name = "string", cflags = "string|table", cpus = "string" })
  if (spec.asm and 1 or 0) + (spec.c and 1 or 0) ~= 1 then
    explain.misuse('pmc.snippet needs one of asm = "add rax, rbx" and c = "x += y"', 3)
  end
  local code = spec.asm and asm_code(spec)
    or (C:gsub("%$(%a[%a_]*)", { init = spec.init or "", init_outside = "", body = spec.c }))
  local cflags = type(spec.cflags) == "string" and { spec.cflags } or { unpack(spec.cflags or {}) }
  cflags[#cflags + 1] = "-DPMCLUA_UNROLL=" .. (spec.unroll or DEFAULT_UNROLL)
  return kernel.new { name = spec.name or spec.asm or spec.c, code = code, symbol = "snippet",
    cflags = cflags,
    libs = spec.c and { "-lm" } or nil, cpus = spec.cpus }
end

return M
