-- cdef.lua: makes pmclua.cdef of pmclua.h and the headers that it includes: their declarations, by part, as text for ffi.cdef.
--
-- usage: luajit cdef.lua pmclua.h … > cdef.lua
-- A part goes from "FFI-BEGIN" to the next or to "FFI-END"; those with a name after it are declared by the
-- file of lua/pmclua/core/ that uses them (core.private_declare). Comments take longer to read than the rest.

local parts, order = {}, {}

local function add(name, declarations)
  if not parts[name] then
    parts[name] = {}
    order[#order + 1] = name
  end
  table.insert(parts[name], (declarations:gsub("/%*.-%*/", ""):gsub("[ \t]+", " "):gsub("%s*\n%s*", "\n")))
end

for _, path in ipairs { ... } do
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  local name, start
  for before, mark, part, after in text:gmatch "()/%* FFI%-(%u+) ?(%l*) %*/()" do
    if name then add(name, text:sub(start, before - 1)) end
    name, start = mark == "BEGIN" and (part == "" and "base" or part) or nil, after
  end
end

io.write "return {\n"
for _, part in ipairs(order) do io.write(("%s = [==[%s]==],\n"):format(part, table.concat(parts[part]))) end
io.write "}\n"
