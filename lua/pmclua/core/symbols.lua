--- symbols.lua: the binding of ELF symbols, part of core/: the functions of a program or shared
--- library, their places in the file, and where each can be left.

local core = require "pmclua.core"
local ffi = require "ffi"

local C = core.private_C "symbols"
local exact, refused, text = core.exact, core.private_refused, core.private_text

local M = {}

local FLAGS = {
  imported = C.PMCLUA_FUNCTION_IMPORTED, indirect = C.PMCLUA_FUNCTION_INDIRECT,
  untyped = C.PMCLUA_FUNCTION_UNTYPED, guessed = C.PMCLUA_FUNCTION_GUESSED,
  is_local = C.PMCLUA_FUNCTION_LOCAL, part = C.PMCLUA_FUNCTION_PART,
}

---@class pmclua.core.Symbols the functions of one file
---@field path string
---@field count integer
local Symbols = {}
Symbols.__index = Symbols

--- Reads the functions of a program or shared library. Returns them; or nil, errno name, number: ELIBACC
--- without elfutils, ENOEXEC for a file that is neither.
---@param path string
---@param debug_file? string nil: where there is one in the customary places
---@return pmclua.core.Symbols?
function M.open(path, debug_file)
  local list, code, errnum = core.private_opened(Symbols, "pmclua_symbols", C.pmclua_symbols_open,
    C.pmclua_symbols_close, path, debug_file)
  if not list then return nil, code, errnum end
  list.path, list.count = path, C.pmclua_symbols_count(list.handle)
  return list
end

local function open_handle(symbols)
  return symbols.handle or error("these symbols are closed", 0)
end

--- For the files of this layer.
M.handle_of = open_handle

---@class pmclua.core.Symbol
---@field index integer
---@field name string as the file has it
---@field shown string as the source has it
---@field full string what tells it from other functions
---@field plain string the name alone
---@field address integer before the file is loaded
---@field offset integer in the file
---@field bytes integer
---@field imported boolean only named here
---@field indirect boolean chosen at run time
---@field untyped boolean a label
---@field guessed boolean its size is a guess
---@field is_local boolean
---@field part boolean split off another function

---@return integer uid of the user that the file belongs to
function Symbols:owner() return C.pmclua_symbols_owner(open_handle(self)) end

--- Function `index`, from 1; nil past the last.
---@param index integer
---@return pmclua.core.Symbol?
function Symbols:at(index)
  local raw = ffi.new "struct pmclua_function"
  if C.pmclua_symbols_function(open_handle(self), index - 1, raw) < 0 then return nil end
  local symbol = { index = index, name = ffi.string(raw.name), shown = ffi.string(raw.shown),
    full = ffi.string(raw.full),
    plain = ffi.string(raw.plain), address = exact(raw.address), offset = exact(raw.offset),
    bytes = exact(raw.bytes) }
  for name, bit_value in pairs(FLAGS) do symbol[name] = bit.band(raw.flags, bit_value) ~= 0 end
  return symbol
end

--- The functions that a name or a pattern with * ? [ ] means; none: {}.
---@param pattern string "parse", "ns::parse", "Parser::*"
---@return pmclua.core.Symbol[]
function Symbols:match(pattern)
  local count = C.pmclua_symbols_match(open_handle(self), pattern, nil, 0)
  if count <= 0 then return {} end
  local indices, list = ffi.new("int32_t[?]", count), {}
  C.pmclua_symbols_match(self.handle, pattern, indices, count)
  for i = 1, count do list[i] = self:at(indices[i - 1] + 1) end
  return list
end

--- Where in the file an address is; nil: in none of its code.
---@param address number as the file has it
---@return number? offset
function Symbols:offset(address)
  local offset = ffi.new "uint64_t[1]"
  if C.pmclua_symbols_offset(open_handle(self), address, offset) < 0 then return nil end
  return exact(offset[0])
end

---@class pmclua.core.Linked what the loader reads of a program or library
---@field is_64 boolean
---@field machine integer EM_* of elf.h
---@field has_no_defaults boolean nothing of it is in the customary folders
---@field needed string[]
---@field loader? string path; nil: it is loaded by itself
---@field rpath? string
---@field runpath? string

local LINKED_BYTES = 64 * 1024
local linked_texts                      -- made once: it is asked for of each library
local LINKED_TEXTS = { I = "loader", P = "rpath", R = "runpath" }

--- Reads it; nil, errno name and number where it cannot be: ELIBACC without elfutils, ENOEXEC for another file.
---@param path string
---@return pmclua.core.Linked?
function M.linked(path)
  linked_texts = linked_texts or ffi.new("char[?]", LINKED_BYTES)
  local raw = ffi.new "struct pmclua_linked"
  local bytes = C.pmclua_linked_read(path, raw, linked_texts, LINKED_BYTES)
  if bytes < 0 then return refused(bytes) end
  local linked = { is_64 = raw.is_64 ~= 0, machine = raw.machine, has_no_defaults = raw.has_no_defaults ~= 0,
    needed = {} }
  for kind, value in ffi.string(linked_texts, bytes):gmatch "(%u)([^%z]*)%z" do
    if kind == "N" then table.insert(linked.needed, value) else linked[LINKED_TEXTS[kind]] = value end
  end
  return linked
end

--- Whether two programs or libraries are one, by all that is loaded of them; nil, errno name and number where one is
--- neither, or cannot be read.
---@param a string path
---@param b string
---@return boolean?
function M.is_same_program(a, b)
  local result = C.pmclua_is_same_program(a, b)
  if result < 0 then return refused(result) end
  return result == 1
end

--- Asks the servers of DEBUGINFOD_URLS for the debug file of a build. Returns its path; or nil, errno name, number:
--- ENOENT where they have none, ETIMEDOUT, ELIBACC without libdebuginfod.
---@param build_id string in hexadecimal
---@param seconds number that it may take; about one more where a server does not answer
---@return string?
---@return string? code
---@return integer? errnum
function M.debug_file(build_id, seconds)
  local bytes, path = build_id:gsub("%x%x", function(byte) return string.char(tonumber(byte, 16)) end),
    ffi.new "char[4096]"
  local result = C.pmclua_debuginfod_find(bytes, #bytes, math.ceil(seconds * 1000), path, 4096)
  if result < 0 then return refused(result) end
  return ffi.string(path)
end

-- ---- names ---------------------------------------------------------------------------------------------

local MOST_BYTES = 65536         -- of a name

local spelled_full, spelled_plain         -- made once: each has MOST_BYTES

--- The full and the plain name of a function that somebody else spells; the spelling itself where it is too long.
---@param spelling string a symbol, "f.cold", "ns::f(int) [clone .cold]"
---@return string full
---@return string plain
function M.spell(spelling)
  spelled_full = spelled_full or ffi.new("char[?]", MOST_BYTES)
  spelled_plain = spelled_plain or ffi.new("char[?]", MOST_BYTES)
  if C.pmclua_spell(spelling, spelled_full, spelled_plain, MOST_BYTES) < 0 then return spelling, spelling end
  return ffi.string(spelled_full), ffi.string(spelled_plain)
end

--- How a pattern means a function: 3: by its name, with parameters or without; 2: by the end of its path; 0: not.
---@param full string
---@param plain string
---@param pattern string
---@return integer
function M.means(full, plain, pattern) return C.pmclua_means(full, plain, pattern) end

---@class pmclua.core.Linux the functions of Linux itself
local Linux = {}
Linux.__index = Linux

--- Reads them; nil and an errno's name: EACCES where Linux hides its addresses from this user.
---@param path string "/proc/kallsyms"
---@return pmclua.core.Linux?, string?
function M.linux(path)
  return core.private_opened(Linux, "pmclua_kallsyms", C.pmclua_kallsyms_open, C.pmclua_kallsyms_close, path)
end

--- The function at an address: its name, and its module if it has one; nil: none.
---@param address number|ffi.cdata*
---@return string? name, string? module
function Linux:find(address)
  local raw = ffi.new "struct pmclua_linux_function"
  if C.pmclua_kallsyms_find(self.handle, address, raw) < 0 then return nil end
  return ffi.string(raw.name), raw.module[0] ~= 0 and ffi.string(raw.module) or nil
end

---@class pmclua.core.Code what an instruction belongs to
---@field fn? string name of its function; nil: it has none
---@field full? string its full name
---@field is_local? true only its source file sees its name
---@field which? number tells it from others of the same full name and `declared` in this file
---@field start? number where the function begins, as the file has it; nil: unknown
---@field bytes? number of the function
---@field address number of the instruction, as the file has it
---@field source? string file of its line
---@field declared? string file that the function is declared in
---@field line? integer
---@field inlined? { fn: string, full: string, source: string?, line: integer?, declared: string? }[] functions that it
---  was copied with, innermost first; source and line: where in its caller

local MOST_INLINED, ENXIO = 32, 6

local function positive(number) return number > 0 and number or nil end

local function inlined_list(raw, count)
  local list = {}
  for i = 1, count do
    local entry = raw[i - 1]
    list[i] = { fn = ffi.string(entry["function"]), full = ffi.string(entry.full),
      source = text(entry.source), declared = text(entry.declared), line = positive(entry.line) }
  end
  return count > 0 and list or nil
end

--- Whether the file has debug information here: source lines, inlined functions.
---@return boolean
function Symbols:has_debug_information()
  return C.pmclua_symbols_has_debug_information(open_handle(self)) ~= 0
end

--- The build id of the file, in hexadecimal; nil: it has none.
---@return string?
function Symbols:build_id()
  local bytes = ffi.new "uint8_t[64]"
  local count = C.pmclua_symbols_build_id(open_handle(self), bytes, 64)
  return core.private_hex(bytes, math.min(count, 64))
end

--- The function and line of the instruction at an offset in the file; nil: no code is there. Raises where
--- there is no memory to tell.
---@param offset number
---@return pmclua.core.Code?
function Symbols:code(offset)
  local raw, inlined = ffi.new "struct pmclua_code", ffi.new("struct pmclua_inlined_at[?]", MOST_INLINED)
  local result = C.pmclua_symbols_code(open_handle(self), offset, raw, inlined, MOST_INLINED)
  if result == -ENXIO then return nil end
  assert(result == 0, "no memory")
  return { fn = text(raw["function"]), full = text(raw.full), which = positive(exact(raw.which)),
    start = raw.bytes > 0 and exact(raw.start) or nil,
    bytes = raw.bytes > 0 and exact(raw.bytes) or nil, address = exact(raw.address),
    is_local = bit.band(raw.flags, C.PMCLUA_FUNCTION_LOCAL) ~= 0 or nil,
    source = text(raw.source), declared = text(raw.declared), line = positive(raw.line),
    inlined = inlined_list(inlined, raw.inlined) }
end

local UNREAD = { [C.PMCLUA_UNREAD_SPLIT] = "split", [C.PMCLUA_UNREAD_SHARED] = "shared",
  [C.PMCLUA_UNREAD_COMPRESSED] = "compressed" }

--- Debug information that is there and could not be read, of what was asked so far: its kinds, each with the first
--- file that it is in.
---@return { kind: "split"|"shared"|"compressed", name: string }[]
function Symbols:unread()
  local raw, list, seen, index = ffi.new "struct pmclua_unread", {}, {}, 0
  while C.pmclua_symbols_unread(open_handle(self), index, raw) == 0 do
    local kind = UNREAD[raw.kind]
    if not seen[kind] then list[#list + 1] = { kind = kind, name = text(raw.name) or "?" } end
    seen[kind], index = true, index + 1
  end
  return list
end

--- The source lines of the function at an address, of which `code` was asked before; nil: they are not known.
---@param address number as the file has it
---@return integer? first where it is declared
---@return integer? last
function Symbols:written(address)
  local lines = ffi.new "int32_t[2]"
  if C.pmclua_symbols_written(open_handle(self), address, lines, lines + 1) < 0 then return nil end
  return lines[0], lines[1]
end

---@class pmclua.core.Instruction
---@field bytes string
---@field text? string "mov eax, dword ptr [rdi]"; addresses in it are offsets in the file
---@field is_return? boolean
---@field jumps? boolean to an address relative to its end, as a call may
---@field reads? boolean or writes at such an address
---@field unfit? boolean not to be executed with registers of no meaning
---@field relative integer where in it that address is, from 0
---@field relative_bytes integer 0: it has none, or its bits are no bytes (arm64)

local function instruction_of(raw, result)
  if result < 0 then return refused(result) end
  local function has(flag) return math.floor(raw.flags / flag) % 2 == 1 end
  return { bytes = ffi.string(raw.bytes, raw.size), text = ffi.string(raw.text),
    relative = raw.relative, relative_bytes = raw.relative_bytes,
    is_return = has(C.PMCLUA_INSTRUCTION_RETURN), jumps = has(C.PMCLUA_INSTRUCTION_JUMP),
    reads = has(C.PMCLUA_INSTRUCTION_MEMORY), unfit = has(C.PMCLUA_INSTRUCTION_UNFIT) }
end

--- The instruction at an offset in the file; nil, errno name and number where it cannot be known.
---@param offset number
---@return pmclua.core.Instruction?
---@return string? code
---@return integer? errnum
function Symbols:instruction(offset)
  local raw = ffi.new "struct pmclua_instruction"
  return instruction_of(raw, C.pmclua_symbols_instruction(open_handle(self), offset, raw))
end

--- The same of code of this machine that is no file's any more.
---@param bytes string from the instruction on
---@param offset number in the file that it was in
---@return pmclua.core.Instruction?
---@return string? code
---@return integer? errnum
function M.instruction(bytes, offset)
  local raw = ffi.new "struct pmclua_instruction"
  return instruction_of(raw, C.pmclua_instruction(bytes, #bytes, offset, raw))
end

--- How often functions of that name were copied into their callers; nil without debug information.
---@param name string the name alone
---@param index? integer within the compilation unit of this function; nil: anywhere
---@return { places: integer, file: string?, line: integer }?
function Symbols:inlined(name, index)
  local raw = ffi.new "struct pmclua_inlined"
  if C.pmclua_symbols_inlined(open_handle(self), name, index and index - 1 or -1, raw) < 0 then return nil end
  return { places = raw.places, line = raw.line, file = text(raw.file) }
end

---@class pmclua.core.Object what a breakpoint can watch
---@field name string
---@field address number as the file has it; of a variable of threads an offset
---@field bytes number
---@field kind "data"|"threads"|"code"|"label"

local KINDS = { [C.PMCLUA_OBJECT_DATA] = "data", [C.PMCLUA_OBJECT_OF_THREADS] = "threads",
  [C.PMCLUA_OBJECT_CODE] = "code", [C.PMCLUA_OBJECT_LABEL] = "label" }

--- Its variables, functions and labels, each once a symbol.
---@return fun(): pmclua.core.Object?
function Symbols:objects()
  local raw, position = ffi.new "struct pmclua_object", 0
  return function()
    position = C.pmclua_symbols_object(open_handle(self), position, raw)
    if position == 0 then return nil end
    return { name = ffi.string(raw.name), address = exact(raw.address), bytes = exact(raw.bytes),
      kind = KINDS[raw.flags] }
  end
end

--- Whether it is a program that is always loaded at the addresses that the file has.
---@return boolean
function Symbols:is_fixed() return C.pmclua_symbols_is_fixed(open_handle(self)) ~= 0 end

--- The lowest address that the file has.
---@return number
function Symbols:base() return exact(C.pmclua_symbols_base(open_handle(self))) end

---@class pmclua.core.Body what the code of a function shows
---@field loops_to_entry boolean
---@field calls boolean
---@field jumps_out boolean
---@field probe_at integer? offset in the file where a probe tells its calls and Linux emulates the instruction
---@field is_stepped boolean there is none, and Linux steps the first one (x86-64)
---@field unknown_at integer? address in the file of an instruction that was not understood

--- Where a function can be left. Returns its exits and what else its code shows; or nil, errno name and
--- the body: ELIBACC without Capstone, ENOTSUP for a machine that it does not know, EILSEQ where an
--- instruction (at body.unknown_at) was not understood, ENODATA where the size is not known.
---@param index integer
---@return { offset: integer, tail: boolean }[]? exits offsets in the file; tail: jumps to another function
---@return pmclua.core.Body|string body, or errno name
function Symbols:exits(index)
  local body = ffi.new "struct pmclua_body"
  local count = C.pmclua_symbols_exits(open_handle(self), index - 1, nil, 0, body)
  local facts = { loops_to_entry = body.loops_to_entry ~= 0, calls = body.calls ~= 0,
    jumps_out = body.jumps_out ~= 0 }
  local raw, exits = ffi.new("struct pmclua_exit[?]", math.max(1, count)), {}
  -- The code is read again.
  if count > 0 then count = C.pmclua_symbols_exits(self.handle, index - 1, raw, count, body) end
  facts.is_stepped = body.is_stepped ~= 0
  if body.probe_at ~= 0 then facts.probe_at = exact(body.probe_at) end
  if body.unknown_at ~= 0 then facts.unknown_at = exact(body.unknown_at) end
  if count < 0 then return nil, core.errno_name(-count), facts end
  for i = 1, count do
    exits[i] = { offset = exact(raw[i - 1].offset), tail = raw[i - 1].kind == C.PMCLUA_EXIT_TAIL }
  end
  return exits, facts
end

function Symbols:close() core.private_close(self, C.pmclua_symbols_close) end

return M
