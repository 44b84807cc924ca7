-- embed.lua: makes the assembly file that holds pmclua's Lua modules and scripts, as source and as bytecode.
--
-- usage: luajit embed.lua BYTECODE CDEF.lua MODULE.lua… > embedded.S     (run from the folder that holds
-- lua/ and scripts/; BYTECODE is a file that is written)
-- Scripts are run from where they are found: their bytecode is for a file that has the very same text.
-- Bytecode loads 16 times as fast as its source, but only the very compiler that made it may load it; it is
-- not checked when loaded. So PROBE comes along in both forms: whoever compiles it to the same bytes is the
-- same compiler, any other is given the sources. Line numbers and names stay in the bytecode: tracebacks are
-- those of the source.

-- One of each kind of instruction. No u64, which would load the FFI; no table with several named fields,
-- whose order differs from run to run, and is ours (bytecode.lua).
local PROBE = [==[
local up, count = 1, 0
local function inner(a, b, ...)
  up = up + a
  if a == b or a == nil or a ~= 1 or a == "text" or not (a < b) or a <= b then return ... end
  return (select("#", ...)), -a, not b, #a
end
for i = 1, 10, 2 do
  for k, v in pairs { i, "two", 3.5, nil } do count = count + k * v - k / v % 2 ^ 2 .. "end" end
  while i < 3 do i = i * 1.5 if i > 2 then break end end
  repeat local again = function() return i, up, inner(up) end until again()
end
local list, wide = { ..., inner(1, 2) }, 12e9
list.field, list[1], list[up], list[300] = wide, 0x7fff, -70000, false
if count > 5 and list then goto out end
list:method(true, nil, nil, list.field[up])
global = list[1]
::out::
return inner(list.field, ...)
]==]

local sorted = dofile((arg[0]:match "^.*/" or "") .. "bytecode.lua")

local function module_name(path)
  return (path:gsub("^.*lua/pmclua/", "pmclua/"):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", "."))
end

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

local files = { ... }
local bytecode_path, cdef = table.remove(files, 1), table.remove(files, 1)
-- A script's text begins with "#!", which only a file may.
local function chunk_of(source) return (source:gsub("^#[^\n]*", "")) end

local modules = {}

local function add(name, chunk, source)
  modules[#modules + 1] = { name = name, chunk = chunk, source = source }
end

local entries, names, sources, codes, position = {}, {}, {}, {}, 0

local function emit(n, name, chunk, source)
  local code = sorted(string.dump(assert(loadstring(chunk_of(source), chunk))))
  names[n] = ('name%d: .asciz "%s"\n'):format(n, name)
  sources[n] = ('source%d: .ascii "%s"\nsource_end%d: .byte 0\n'):format(n,
    source:gsub("[^%w ]", function(c) return ("\\%03o"):format(c:byte()) end), n)
  entries[n] = (".quad name%d, source%d, source_end%d - source%d, bytecode + %d, %d\n"):format(n, n, n, n,
    position, #code)
  codes[n], position = code, position + #code
end

-- The chunk's name is in the bytecode: the compiler's version is compared along with its work.
add("probe", "=" .. jit.version, PROBE)
add("pmclua.cdef", "@pmclua.cdef", read(cdef))
for _, path in ipairs(files) do
  local name = path:find "^scripts/" and path or module_name(path)
  add(name, "@" .. name, read(path))
end

table.sort(modules, function(a, b) return a.name < b.name end)
for n, module in ipairs(modules) do emit(n, module.name, module.chunk, module.source) end

local file = assert(io.open(bytecode_path, "wb"))
assert(file:write(table.concat(codes)))
assert(file:close())
-- A search reads the names, a run of the same compiler no sources: each stand together, for the OS kernel brings
-- a file's pages in when they are read.
io.write(".section .rodata\n", ('bytecode: .incbin "%s"\n'):format(bytecode_path), table.concat(names),
  table.concat(sources),
  '.section .data.rel.ro,"aw"\n.balign 8\n.global pmclua_embedded\npmclua_embedded:\n',
  table.concat(entries), ".global pmclua_embedded_count\npmclua_embedded_count: .quad ", #modules, "\n",
    '.section .note.GNU-stack,"",%progbits\n')
