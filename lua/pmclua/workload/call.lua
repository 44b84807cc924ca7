--- call.lua: generates a kernel that calls a C function, from the function's declaration.

local explain = require "pmclua.explain"
local kernel = require "pmclua.workload.kernel"
local lists = require "pmclua.base.lists"
local paths = require "pmclua.host.paths"
local shellwords = require "pmclua.workload.shellwords"

local call = {}

-- ---- buffers ----

local Buffer = require("pmclua.public.class").new("workloads", "buffer", "fresh")
Buffer.__about = function(self) return ("%s[%s] of %s"):format(self.type, self.count, self.fill) end

-- Element i of a buffer, as a C expression; x is the state of a pseudo-random generator (splitmix64).
local FILLS = { zero = "0", index = "i", reverse = "n - i", random = "pmclua_random(&x)", one = "1" }

--- Memory to pass to a function: `count` elements of a C type.
---@param options table { "int32_t", count =, fill = "zero"|"index"|"reverse"|"random"|"one"|number, fresh = boolean }
---   count: a number or the name of a factor; fresh: filled again before each measured call
---@return table buffer for the args of pmc.call
function call.buffer(options)
  return setmetatable({ type = options[1], count = options.count, fill = options.fill or "zero",
    fresh = options.fresh }, Buffer)
end

-- ---- the generated kernel ----

local TEMPLATE = [[
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <pmclua_kernel.h>
$includes
#line 1 "declaration"
extern $declaration;
#line 1 "generated"
struct state { __typeof__($symbol) *function; uint64_t count[$buffers + 1]; void *buffer[$buffers + 1]; };
static inline uint64_t pmclua_random(uint64_t *x)
{
    uint64_t z = *x += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}
static void fill(struct state *s, int all)
{
    uint64_t x = 1;
    (void)x; (void)s; (void)all;
$fills}
void *call_setup(const struct pmclua_params *params)
{
    struct state *s = calloc(1, sizeof *s);
    if (!s) return pmclua_fail(params, "no memory");
    void *library = dlopen($library, RTLD_NOW);
    if (!library) return pmclua_fail(params, dlerror());
    *(void **)&s->function = dlsym(library, "$symbol");
    if (!s->function) return pmclua_fail(params, dlerror());
$allocations    fill(s, 1);
    return s;
}
void call_reset(void *state, uint64_t iterations) { (void)iterations; fill(state, 0); }
void call_teardown(void *state)
{
    struct state *s = state;
    if (!s) return;
    for (int i = 0; i < $buffers; i++) free(s->buffer[i]);
    free(s);
}
void call(void *state, uint64_t iterations)
{
    struct state *s = state;
    __typeof__($symbol) *function = s->function;
    while (iterations--) { $statement }
}
]]

local function quoted(text) return ("%q"):format(text):gsub("\\\n", "\\n") end

--- C for one argument; buffers are collected in `buffers`.
local function argument(value, buffers)
  if getmetatable(value) == Buffer then
    buffers[#buffers + 1] = value
    return ("(%s *)s->buffer[%d]"):format(value.type, #buffers - 1)
  elseif type(value) == "string" then return quoted(value)
  elseif type(value) == "number" then
    return value % 1 == 0 and math.abs(value) < 2 ^ 53 and ("%d"):format(value) or ("%.17g"):format(value)
  elseif require("pmclua.core").is_u64(value) then return ("%uULL"):format(value)
  elseif type(value) == "cdata" then return ("%dLL"):format(value)
  end
  return value and "1" or "0"
end

-- An argument as results show it.
local function shown(value)
  if getmetatable(value) ~= Buffer then return argument(value) end
  return Buffer.__about(value)
end

-- C for an element: a number as it is, for the compiler says what the type cannot hold.
local function filling(buffer)
  local fill = FILLS[buffer.fill]
  return fill and ("(%s)(%s)"):format(buffer.type, fill) or argument(buffer.fill)
end

local MISSING = [[
    if (!pmclua_str(params, "%s", 0)) return pmclua_fail(params, "pmc.buffer: there is no factor '%s'");
]]

local function buffer_code(buffers)
  local allocations, fills = {}, {}
  for i, buffer in ipairs(buffers) do
    local slot = i - 1
    local count = type(buffer.count) == "number" and ("%d"):format(buffer.count)
      or ('pmclua_u64(params, "%s", 0)'):format(buffer.count)
    local missing = type(buffer.count) == "string" and MISSING:format(buffer.count, buffer.count) or ""
    allocations[i] = missing .. ([[
    s->count[%d] = %s;
    s->buffer[%d] = calloc(s->count[%d] + !s->count[%d], sizeof(%s));
    if (!s->buffer[%d]) return pmclua_fail(params, "no memory for a buffer");
]]):format(slot, count, slot, slot, slot, buffer.type, slot)
    fills[i] = ([[
    if (%s) for (uint64_t i = 0, n = s->count[%d]; i < n; i++) ((%s *)s->buffer[%d])[i] = %s;
]]):format(buffer.fresh and "1" or "all", slot, buffer.type, slot, filling(buffer))
  end
  return table.concat(allocations), table.concat(fills)
end

local function library_text(library)
  if not library then return "NULL" end
  local path = library:find("/", 1, true) and paths.from(paths.script_folder or ".", library) or library
  return quoted(path)
end

-- Conversions that the compiler refuses: a string for a number, a number that its parameter cannot hold. Few
-- fractions are exact as a float: where there is one, fractions are not looked at.
local function conversions_of(declaration, buffers)
  local kinds = { "int-conversion", "overflow", "sign-conversion" }
  local types = declaration .. " " .. table.concat(lists.column(buffers, "type"), " ")
  if not types:find "%f[%w_]float%f[^%w_]" then kinds[#kinds + 1] = "float-conversion" end
  return lists.map(kinds, function(kind) return "-Werror=" .. kind end)
end

--- A kernel that calls a C function once an iteration.
---@param spec table { declaration = "double cos(double x)", library = "libm.so.6", args = { 0.5 }, headers = { "<math.h>" }, name = }
---@return pmclua.Kernel
function call.new(spec)
  local declaration = spec.declaration:gsub(";%s*$", "")
  local result, symbol = declaration:match "^(.-)([%a_][%w_]*)%s*%("
  if not symbol or result == "" then
    explain.misuse('pmc.call needs declaration =, such as "double cos(double x)"', 3)
  end
  local args, buffers = {}, {}
  for i, value in ipairs(spec.args or {}) do args[i] = argument(value, buffers) end
  local allocations, fills = buffer_code(buffers)
  local is_void = result:match "^%s*void%s*$"
  local invocation = ("function(%s)"):format(table.concat(args, ", "))
  local includes = lists.map(spec.headers or {}, function(header) return "#include " .. header end)
  local code = TEMPLATE:gsub("%$(%a+)", {
    declaration = declaration, symbol = symbol, buffers = tostring(#buffers),
    library = library_text(spec.library),
    includes = table.concat(includes, "\n"), allocations = allocations, fills = fills,
    statement = is_void and invocation .. ";"
      or ("__auto_type result = %s; pmclua_keep(result);"):format(invocation),
  })
  local cflags = lists.joined { conversions_of(declaration, buffers), shellwords.list(spec.cflags) }
  local made = kernel.new { name = spec.name or symbol, code = code, symbol = "call",
    cflags = cflags, libs = { "-ldl" }, threads = spec.threads, cpus = spec.cpus }
  made.arguments = table.concat(lists.map(spec.args or {}, shown), ", ")
  return made
end

return call
