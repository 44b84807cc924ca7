-- The functions of ELF files: of each kind of file, under each kind of name, and where each is left.

local support = require "tests.support"
local symbols = require "pmclua.core.symbols"

local function source(name) return support.fixture("region/" .. name) end

local function build(output, ...)
  local built = support.run({ ... })
  assert(built.status == 0, built.err)
  return output
end

--- Compiles a fixture in a folder of its own; returns the program's path and the folder.
local function compile(name, ...)
  local folder = support.folder()
  local compiler = name:find "%.cc$" and "c++" or "cc"
  local output = folder .. "/program"
  return build(output, compiler, "-O2", "-g", "-o", output, source(name), ...), folder
end

local function open(path)
  local list = assert(symbols.open(path))
  finally(function() list:close() end)
  return list
end

--- The one function that a name means.
local function the(list, name)
  local found = list:match(name)
  assert.equal(1, #found, name)
  return found[1]
end

local function shown_names(list, pattern)
  local names = {}
  for i, symbol in ipairs(list:match(pattern)) do names[i] = symbol.shown end
  table.sort(names)
  return names
end

--- The bytes of a file from an offset on.
local function bytes_at(path, offset, count) return support.read(path):sub(offset + 1, offset + count) end

describe("the functions of a file", function()
  lazy_setup(function() support.need(support.have "cc", "no C compiler") end)

  it("are found with their places in position-independent, static and shared files", function()
    local kinds = { { "-pie" }, { "-no-pie" }, { "-static" }, { "-shared", "-fPIC" } }
    for _, flags in ipairs(kinds) do
      local path = compile("functions.c", unpack(flags))
      local list = open(path)
      local code = bytes_at(path, the(list, "two_returns").offset, the(list, "two_returns").bytes)
      assert.equal(the(list, "two_returns").bytes, #code)
      assert.is_true(the(list, "only_here").is_local)
      for _, exit in ipairs(list:exits(the(list, "two_returns").index)) do
        local byte = bytes_at(path, exit.offset, 1):byte()
        assert.is_true(jit.arch ~= "x64" or byte == 0xc3, ("%s: %x"):format(flags[1], byte))
      end
    end
  end)

  it("are found in stripped files by their separate debug file, through debuglink and build-id", function()
    support.need(support.have "objcopy", "no objcopy")
    local path, folder = compile("functions.c", "-Wl,--build-id=sha1")
    local offset = the(open(path), "only_here").offset
    local debug_file = folder .. "/program.debug"
    build(nil, "objcopy", "--only-keep-debug", path, debug_file)
    build(nil, "objcopy", "--strip-all", "--add-gnu-debuglink=" .. debug_file, path, folder .. "/stripped")
    local stripped = open(folder .. "/stripped")
    assert.equal(offset, the(stripped, "only_here").offset)
    assert.equal(2, stripped:inlined("copied").places)
  end)

  it("of a stripped file without a debug file are those that other files may call", function()
    local path, folder = compile("functions.c", "-shared", "-fPIC")
    build(nil, "strip", "-o", folder .. "/stripped", path)
    local stripped = open(folder .. "/stripped")
    assert.equal(the(open(path), "two_returns").offset, the(stripped, "two_returns").offset)
    assert.same({}, stripped:match "only_here")
  end)

  it("are told from imported, indirect and unsized ones", function()
    local list = open((compile "functions.c"))
    assert.is_true(the(list, "exit").imported)
    assert.is_true(the(list, "chosen").indirect)
    assert.is_false(the(list, "two_returns").indirect)
    local library = open((compile("loop.S", "-shared", "-nostdlib")))
    local label = the(library, "unsized")
    assert.is_true(label.untyped and label.guessed)
    assert.is_true(label.bytes > 0)
  end)

  it("are labels of assembly without a type, but for those within a function that states its size", function()
    local path = support.build(support.folder() .. "/labels", "cc", "-shared", "-nostdlib",
      support.fixture "where/labels.S")
    local list = open(path)
    for _, name in ipairs { "weak", "local" } do
      local label = the(list, name)
      assert.is_true(label.untyped and label.bytes > 1)
      assert.equal(name, list:code(label.offset).fn)
    end
    assert.same({}, list:match "within")
    assert.equal("sized", list:code(the(list, "sized").offset + 1).fn)
  end)

  it("are those of Go's own table, where they have no symbols", function()
    support.need(support.have "strip", "no strip")
    local folder = support.folder()
    local labels = support.fixture "where/labels.S"
    local path = support.build(folder .. "/go", "cc", "-shared", "-nostdlib", labels)
    assert.equal(0, support.run({ "strip", "-o", folder .. "/stripped", path }).status)
    for _, file in ipairs { path, folder .. "/stripped" } do
      local list = open(file)
      for _, name in ipairs { "main.coldPath", "main.cold", "cold" } do
        local symbol = the(list, name)
        assert.is_false(symbol.part)
        assert.equal(symbol.plain, list:code(symbol.offset).fn)
      end
      -- Type arguments are not in the table.
      local generic = list:code(the(list, "main.sum[...]").offset)
      assert.equal(generic.start, generic.which)
    end
  end)

  it("have no lines of code that the linker left out", function()
    for _, flags in ipairs { { "-gdwarf-4" }, { "-gdwarf-5" } } do
      local path = support.build(support.folder() .. "/program", "cc", "-O1", "-pie", "-ffunction-sections",
        "-Wl,--gc-sections", support.fixture "where/left_out.c", unpack(flags))
      local list = open(path)
      local called = the(list, "called")
      assert.is_true(called.address < 0x10000)
      for offset = called.offset, called.offset + called.bytes - 1 do
        local code = list:code(offset)
        assert.is_true(code.line >= 11 and code.line <= 17, ("%x: line %d"):format(offset, code.line))
        assert.is_nil(code.inlined)
      end
    end
  end)

  it("go by the names that people write in C++", function()
    support.need(support.have "c++", "no C++ compiler")
    local list = open((compile "names.cc"))
    local both = { "json::Parser::parse(char const*)", "json::Parser::parse(int) const" }
    for _, name in ipairs { "json::Parser::parse", "Parser::parse", "parse", "json::*::parse" } do
      assert.same(both, shown_names(list, name))
    end
    assert.same({ both[1] }, shown_names(list, both[1]))
    assert.same({ both[2] }, shown_names(list, "_ZNK4json6Parser5parseEi"))
    local written = require("pmclua.event.signature").match(list, "Parser::parse(const char *)")
    assert.same({ 1, both[1] }, { #written, written[1].shown })
    assert.equal("json::Parser::operator()", the(list, "json::Parser::operator()").plain)
    assert.equal("long json::Parser::convert<long>(long)", the(list, "json::Parser::convert").shown)
    assert.equal("json::Parser::convert<long>", the(list, "convert<long>").plain)
    assert.equal("json::(anonymous namespace)::hidden", the(list, "hidden").plain)
    assert.equal("json::Parser::~Parser()", the(list, "~Parser").shown)
    assert.equal("plain_c", the(list, "plain_c").shown)
  end)

  it("are told apart by parameters, as people write them", function()
    local signature = require "pmclua.event.signature"
    local text = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
    local spellings = { "ns::f(char const*, int)", "int ns::f<unsigned int>(unsigned int) [clone .isra.0]",
      ("ns::f(%s const&, std::vector<char const*, std::allocator<char const*> > const&)"):format(text),
      "ns::f(void (*)(int const*))", "ns::f::operator()(long) const" }
    local list = { match = function(_, name)
      local found = {}
      for i, shown in ipairs(spellings) do
        local is_meant = name == "f" or name == "ns::f" or shown:find(name .. "(", 1, true)
        found[#found + 1] = is_meant and { shown = spellings[i] } or nil
      end
      return found
    end }
    -- The core knows no parameters.
    local function found(spelling)
      local core_match = list.match
      local only = { match = function(_, name) return name == spelling and {} or core_match(list, name) end }
      local names = {}
      for i, symbol in ipairs(signature.match(only, spelling)) do names[i] = symbol.shown end
      return names
    end
    assert.same({ spellings[1] }, found "ns::f(const char *, int)")
    assert.same({ spellings[1] }, found "f(char const *,int)")
    assert.same({ spellings[2] }, found "ns::f<unsigned int>(unsigned  int)")
    assert.same({ spellings[2] }, found "int ns::f<unsigned int>(unsigned int)")
    assert.same({ spellings[3] },
      found "ns::f(const std::string &, const std::vector<const char*, std::allocator<const char*>> &)")
    assert.same({ spellings[4] }, found "f(void (*)(const int *))")
    assert.same({ spellings[5] }, found "ns::f::operator()(long) const")
    assert.same({ spellings[5] }, found "ns::f::operator()(long)")
    assert.same({}, found "ns::f::operator()(long) volatile")
    assert.same({}, found "f(char*, int)")
  end)

  it("match patterns, and nothing where there is nothing", function()
    local list = open((compile "functions.c"))
    assert.same({ "calls_copied", "calls_copied_too" }, shown_names(list, "calls_*"))
    assert.same({ "calls_copied" }, shown_names(list, "calls_copied"))
    assert.same({}, list:match "calls_copie")
    assert.same({}, list:match "")
  end)

  it("that were copied into their callers are known to have been", function()
    local list = open((compile "functions.c"))
    assert.same({}, list:match "copied")
    local inlined = list:inlined "copied"
    assert.equal(2, inlined.places)
    assert.truthy(inlined.file:find "functions%.c$")
    assert.equal(0, list:inlined("two_returns").places)
    local bare = open((compile("functions.c", "-g0")))
    assert.is_nil(bare:inlined "copied")
  end)

  describe("of split debug information", function()
    local path

    --- Compiles names.cc so that what was inlined is told by its .dwo file alone.
    local function compile_split(version)
      support.need(support.have "clang", "no clang")
      path = support.folder() .. "/names"
      build(nil, "clang", "-x", "c++", "-O1", version, "-gsplit-dwarf", "-fno-split-dwarf-inlining", "-c",
        "-o", path .. ".o", support.fixture "where/names.cc")
      build(nil, "clang", "-o", path, path .. ".o")
    end

    -- In how many places fill was inlined, by the places themselves and by their sum; what could not be read.
    local function inlined()
      local list = open(path)
      local main, is_there = the(list, "main"), false
      for offset = main.offset, main.offset + main.bytes - 1 do
        for _, one in ipairs(list:code(offset).inlined or {}) do is_there = is_there or one.fn == "fill" end
      end
      return is_there, list:inlined("fill").places, list:unread()
    end

    for _, version in ipairs { "-gdwarf-4", "-gdwarf-5" } do
      it("are read from .dwo files, " .. version, function()
        compile_split(version)
        assert.same({ true, 1, {} }, { inlined() })
      end)

      it("are read from a package, " .. version, function()
        support.need(support.have "llvm-dwp", "no llvm-dwp")
        compile_split(version)
        build(nil, "llvm-dwp", "-e", path, "-o", path .. ".dwp")
        os.remove(path .. ".dwo")
        assert.same({ true, 1, {} }, { inlined() })
      end)
    end

    it("are missing with their file, and it is said", function()
      compile_split "-g"
      os.remove(path .. ".dwo")
      local list = open(path)
      assert.equal(0, list:inlined("fill").places)
      assert.matches("names.dwo, which is missing", require("pmclua.event.unread").sentences(list, path)[1])
    end)
  end)

  it("have no lines where these are compressed in a way that is not known, and it is said", function()
    support.need(support.have "objcopy", "no objcopy")
    local path, folder = compile "functions.c"
    local packed = folder .. "/packed"
    local done = support.run { "objcopy", "--compress-debug-sections=zstd", path, packed }
    support.need(done.status == 0, "this objcopy does not know zstd")
    local list = open(packed)
    local code = list:code(the(list, "two_returns").offset)
    local said = require("pmclua.event.unread").sentences(list, packed)
    if code.line then
      assert.same({}, said)              -- this elfutils knows zstd
    else
      assert.matches("compressed with zstd", said[1])
      assert.is_nil(list:inlined "copied")
    end
  end)

  it("are not there in what is no program, and the errno says why", function()
    local folder = support.folder()
    local _, code = symbols.open(folder .. "/none")
    assert.equal("ENOENT", code)
    _, code = symbols.open(support.write(folder .. "/text", "#!/bin/sh\n"))
    assert.equal("ENOEXEC", code)
    _, code = symbols.open(support.write(folder .. "/short", "\127ELF\2\1\1"))
    assert.equal("ENOEXEC", code)
    support.run { "mkfifo", folder .. "/pipe" }
    for _, spec in ipairs { "uprobe:%s/pipe:f", "mem:%s/pipe:f" } do
      local asked = support.run { "timeout", "20", support.program, "events", "--encode",
        spec:format(folder) }
      assert.equal(1, asked.status, asked.err)
    end
  end)

  it("may be closed twice and not used after", function()
    local list = assert(symbols.open((compile "functions.c")))
    list:close()
    list:close()
    assert.has_error(function() list:match "main" end, "these symbols are closed")
  end)
end)

describe("the exits of a function", function()
  lazy_setup(function()
    support.need(support.have "cc", "no C compiler")
    support.need(jit.arch == "x64" or jit.arch == "arm64", "returns are known on x86-64 and arm64")
  end)

  local function exits(list, name) return list:exits(the(list, name).index) end

  it("are all of its return instructions", function()
    local list = open((compile("functions.c", "-O1")))
    local found, body = exits(list, "two_returns")
    assert.is_true(#found >= 1)
    for _, exit in ipairs(found) do assert.is_false(exit.tail) end
    assert.is_false(body.loops_to_entry)
    assert.same({}, (exits(list, "never_returns")))
  end)

  it("are jumps to another function where it ends by a tail call", function()
    local found = exits(open((compile "functions.c")), "jumps_on")
    assert.equal(1, #found)
    assert.is_true(found[1].tail)
  end)

  it("do not hide a loop that begins at its first instruction", function()
    local found, body = exits(open((compile("loop.S", "-shared", "-nostdlib"))), "loop_at_entry")
    assert.equal(1, #found)
    assert.is_true(body.loops_to_entry)
    assert.is_false(body.calls)
  end)

  it("are not guessed where the code has what is no instruction", function()
    support.need(jit.arch == "x64", "instructions of several sizes")
    local list = open((compile("loop.S", "-shared", "-nostdlib")))
    local found, code, body = exits(list, "data_within")
    assert.is_nil(found)
    assert.equal("EILSEQ", code)
    assert.equal(the(list, "data_within").address + 2, body.unknown_at)
  end)
end)
