-- embed.lua: makes the assembly file that holds pmclua's Lua modules as source.
--
-- usage: luajit embed.lua CDEF.lua MODULE.lua… > embedded.S     (run from the folder that holds lua/)
-- Source, not bytecode: bytecode needs the very VM that made it, and source gives exact tracebacks.

local function module_name(path)
  return (path:gsub("^.*lua/pmclua/", "pmclua/"):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", "."))
end

local files = { ... }
local cdef = table.remove(files, 1)
local entries, strings = {}, {}

local function add(name, path)
  local n = #strings / 2 + 1
  table.insert(strings, ('name%d: .asciz "%s"\n'):format(n, name))
  table.insert(strings, ('data%d: .incbin "%s"\nend%d: .byte 0\n'):format(n, path, n))
  table.insert(entries, (".quad name%d, data%d, end%d - data%d\n"):format(n, n, n, n))
end

add("pmclua.cdef", cdef)
for _, path in ipairs(files) do add(module_name(path), path) end

io.write(".section .rodata\n", table.concat(strings),
  '.section .data.rel.ro,"aw"\n.balign 8\n.global pmclua_embedded\npmclua_embedded:\n',
  table.concat(entries), ".quad 0, 0, 0\n", '.section .note.GNU-stack,"",%progbits\n')
