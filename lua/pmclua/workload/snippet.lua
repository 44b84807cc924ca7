--- snippet.lua: a line of assembly or C as a kernel: unrolled in a loop that does nothing else.
--
-- An iteration is one turn of the loop: `unroll` copies of the snippet, and the loop's own two
-- instructions, which more copies make small. Assembly may use every general and vector register
-- but the stack pointer, the frame pointer and the loop's counter (r15, x28); r14 (x27) points at 64 KiB
-- of zeroed memory of its own. What keeps the work of C alive: snippet_c.lua.

local check = require "pmclua.base.arguments"
local explain = require "pmclua.explain"
local kernel = require "pmclua.workload.kernel"
local lists = require "pmclua.base.lists"
local snippet_c = require("pmclua.base.lazy").module "pmclua.workload.snippet_c"
local shellwords = require "pmclua.workload.shellwords"

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
    register char *base __asm__("$memory") = memory;
    (void)state;
    if (iterations == 0) return;
    __asm__ volatile("$before\n\t" $init "$after\n\t.balign 64\n1:\n\t$before\n\t"
      ".rept " STRING(PMCLUA_UNROLL) "\n\t"
                     $body ".endr\n\t$after\n\t$loop"
                     : "+r"(counter), "+r"(base) : : "memory", "cc", $clobbers);
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
  if not machine then explain.misuse("pmc.snippet knows no assembly for this machine, " .. jit.arch, 4) end
  local syntax = machine.syntaxes[spec.syntax or machine.syntax]
  if not syntax then
    local known = check.keys(machine.syntaxes)
    explain.misuse(("syntax must be %s here, not '%s'"):format(table.concat(known, " or "), spec.syntax), 4)
  end
  local parts = { counter = machine.counter, memory = machine.memory, before = syntax[1], after = syntax[2],
    clobbers = machine.clobbers, loop = machine.loop, init = asm_text(spec.init or ""),
      body = asm_text(spec.asm) }
  return (ASM:gsub("%$(%a+)", parts))
end

local DEFAULT_UNROLL, MOST_UNROLL = 100, 100000

-- The number of copies in the loop for these levels. Raises an error object.
local function copies_of(spec, levels)
  local word = shellwords.fill(tostring(spec.unroll or DEFAULT_UNROLL), levels)
  local count = tonumber(word)
  if count and count >= 1 and count <= MOST_UNROLL and count % 1 == 0 then return count end
  error(explain.problem { code = "EINVAL", operation = "prepare",
    message = ("pmc.snippet: unroll must be a number from 1 to %d, not '%s'"):format(MOST_UNROLL, word) }, 0)
end

-- The code that keeps the snippet's work alive depends on the compiler and its flags only: found once for each.
local function generator_of(spec)
  local generators = {}
  return function(session, unit, levels)
    local key = table.concat({ unit.cc or "", unpack(unit.cflags) }, "\0")
    generators[key] = generators[key] or snippet_c.find(session, unit, spec.init or "", spec.c)
    return snippet_c.code(spec.init or "", spec.c, copies_of(spec, levels), generators[key])
  end
end

-- Facts about the machine code. Assembly needs none.
local function copies_fact_of(spec)
  local is_empty = snippet_c.is_blank(spec.asm and asm_text(spec.asm) or spec.c)
  return function(levels, look)
    if spec.asm and not is_empty then return nil end
    local facts = is_empty and { empty = true } or look()
    facts.unroll = copies_of(spec, levels)
    return facts
  end
end

--- A snippet as a kernel.
---@param spec table { asm = "add rax, rbx" | c = "x += y", init =, syntax = "intel"|"att", unroll = 100, name =, cflags = }
---   unroll: a number, or "{FACTOR}"; init: run once before the loop (assembly), or declarations (C)
---@return pmclua.Kernel
function M.new(spec)
  if (spec.asm and 1 or 0) + (spec.c and 1 or 0) ~= 1 then
    explain.misuse('pmc.snippet needs one of asm = "add rax, rbx" and c = "x += y"', 3)
  end
  spec = lists.copy(spec)
  local code = spec.asm and asm_code(spec) or ("%s\n;%s"):format(spec.init or "", spec.c)
  local cflags = { unpack(shellwords.list(spec.cflags)) }
  cflags[#cflags + 1] = "-DPMCLUA_UNROLL=" .. (spec.unroll or DEFAULT_UNROLL)
  local shown = spec.asm or spec.c
  local self = kernel.new { name = spec.name or shown:find "%S" and shown or "(empty)", code = code,
    symbol = "snippet", cflags = cflags, libs = spec.c and { "-lm" } or nil, cpus = spec.cpus }
  self.generate = spec.c and generator_of(spec) or nil
  self.copies = copies_fact_of(spec)
  return self
end

return M
