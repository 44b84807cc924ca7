-- Files that a program names as having its debug information: whoever made it may have named a FIFO, to which nobody
-- writes, or a device. These are not opened, and what another build has is not used.

local lfs = require "lfs"
local support = require "tests.support"

local SOURCE = [[
static inline __attribute__((always_inline)) void fill(volatile int *to) { to[0] = 1; }
#ifndef SIZE
#define SIZE 4
#endif
struct shared { struct shared *next, *last; char name[100]; long many[10]; double w[9]; };
struct shared first;
int main(void) { volatile int a[SIZE]; fill(a); return 0; }]]

before_each(function()
  support.need(support.have "gcc" and support.have "objcopy", "no gcc or no objcopy")
end)

local function run(...)
  local done = support.run { ... }
  assert.equal(0, done.status, done.err)
end

--- Compiles SOURCE: the program's path.
local function compile(...)
  local folder = support.folder()
  support.write(folder .. "/program.c", SOURCE)
  return support.build(folder .. "/program", "gcc", "-g", "-O1", folder .. "/program.c", ...)
end

-- Asks in a process of its own, which may be ended: in how many places `fill` is, and what could not be read.
local ASK = [[
  local symbols = require("pmclua.core.symbols")
  local list = assert(symbols.open(arg[1]))
  local found, sentences = list:inlined "fill", require("pmclua.event.unread").sentences(list, arg[1])
  print(found and found.places, sentences[1])]]

local function ask(path)
  local script = support.write(support.folder() .. "/ask.lua", ASK)
  local result = support.pmclua({ script, path }, { limit_s = 20 })
  assert.same({ 0, "" }, { result.status, result.err })
  return result.out
end

-- Puts something in the place of a file.
local IN_PLACE = {
  ["a FIFO"] = function(path) run("mkfifo", path) end,
  ["a device"] = function(path) assert(lfs.link("/dev/zero", path, true)) end,
  ["a folder"] = function(path) assert(lfs.mkdir(path)) end,
}

local function put(what, path)
  os.remove(path)
  IN_PLACE[what](path)
end

--- A program without debug information, which is in a file beside it.
local function separated(...)
  local path = compile(...)
  local folder = path:match "^(.*)/"
  run("objcopy", "--only-keep-debug", path, folder .. "/program.debug")
  run("objcopy", "--strip-debug", "--add-gnu-debuglink=" .. folder .. "/program.debug", path)
  return path, folder .. "/program.debug"
end

describe("a separate debug file", function()
  for _, id in ipairs { "none", "sha1" } do
    it("is found beside the program and in .debug there, with build id " .. id, function()
      local path, file = separated("-Wl,--build-id=" .. id)
      assert.matches("^1\t", ask(path))
      local folder = file:match "^(.*)/" .. "/.debug"
      lfs.mkdir(folder)
      os.rename(file, folder .. "/program.debug")
      assert.matches("^1\t", ask(path))
    end)

    it("is not used where it is of another build, with build id " .. id, function()
      local path, file = separated("-Wl,--build-id=" .. id)
      local _, other = separated("-Wl,--build-id=" .. id, "-DSIZE=9")
      run("cp", other, file)
      assert.matches("^nil\t", ask(path))
    end)

    for what in pairs(IN_PLACE) do
      it(("is not waited for where it is %s, with build id %s"):format(what, id), function()
        local path, file = separated("-Wl,--build-id=" .. id)
        put(what, file)
        assert.matches("^nil\t", ask(path))
      end)
    end
  end
end)

describe("split debug information", function()
  for _, version in ipairs { "-gdwarf-4", "-gdwarf-5" } do
    it("is read from the folder that it was built in and from the program's, " .. version, function()
      for _, way in ipairs { "there", "beside" } do
        local path = compile(version, "-gsplit-dwarf")
        local folder, moved = path:match "^(.*)/", support.folder()
        run("sh", "-c", ("cd %s && gcc -O1 %s -gsplit-dwarf -c program.c && gcc -o program program.o")
          :format(folder, version))
        if way == "there" then run("mv", path, moved .. "/program")
        else run("sh", "-c", ("mv %s/program %s/program.dwo %s"):format(folder, folder, moved)) end
        assert.matches("^1\tnil", ask(moved .. "/program"), way)
      end
    end)

    it("is read where it is compressed, " .. version, function()
      local folder = compile():match "^(.*)/"
      run("sh", "-c", ("cd %s && gcc -O1 %s -gz -gsplit-dwarf -c program.c && gcc -o program program.o")
        :format(folder, version))
      assert.matches("^1\tnil", ask(folder .. "/program"))
    end)

    for what in pairs(IN_PLACE) do
      it(("is not waited for where it is %s, and that is said, %s"):format(what, version), function()
        local folder = compile():match "^(.*)/"
        run("sh", "-c", ("cd %s && gcc -O1 %s -gsplit-dwarf -c program.c && gcc -o program program.o")
          :format(folder, version))
        for _, name in ipairs { "/program.dwo", "/program.dwp" } do put(what, folder .. name) end
        assert.matches("program.dwo, which is missing", ask(folder .. "/program"), 1, true)
      end)
    end
  end
end)

describe("debug information that several files share", function()
  -- Names a file as dwz does.
  local function linked(to, id)
    local path = compile "-Wl,--build-id=sha1"
    local section = support.write(path .. ".altlink", to .. "\0" .. (id or ("i"):rep(20)))
    run("objcopy", "--add-section", ".gnu_debugaltlink=" .. section, path)
    return path
  end

  for what in pairs(IN_PLACE) do
    it("is not waited for where it is " .. what .. ", and that is said", function()
      local place = support.folder() .. "/shared"
      put(what, place)
      assert.matches("shared, which is missing", ask(linked(place)), 1, true)
    end)
  end

  it("is read from the file that it names, of the same build alone", function()
    support.need(support.have "dwz", "no dwz")
    local one, other = compile "-Wl,--build-id=sha1", compile("-Wl,--build-id=sha1", "-DSIZE=9")
    local shared = support.folder() .. "/shared"
    local done = support.run { "dwz", "-m", shared, "-M", shared, one, other }
    support.need(done.status == 0 and support.exists(shared), "this dwz found nothing to share: " .. done.err)
    assert.matches("^1\tnil", ask(one))
    assert.matches("^1\tnil", ask(other))
    local third = compile("-Wl,--build-id=sha1", "-DSIZE=12")
    run("objcopy", "--only-keep-debug", third, shared)
    assert.matches("shared, which is missing", ask(one), 1, true)
  end)
end)

describe("a program of another user", function()
  it("is read on where he cuts it short, and its debug files too", function()
    support.need(support.have_root(), "giving files away needs root")
    local cut = support.write(support.folder() .. "/cut.lua", [[
      local list = assert(require("pmclua.core.symbols").open(arg[1]))
      if arg[2] then list:at(1) list:inlined "main" end
      for i = 1, #arg do io.open(arg[i], "w"):close() end
      print(list:inlined("fill").places)]])
    local whole = compile()
    local bare, debug = separated()
    os.execute(("chown 65534 %s %s %s"):format(whole, bare, debug))
    for _, files in ipairs { { whole }, { bare, debug } } do
      local result = support.pmclua { cut, unpack(files) }
      assert.same({ 0, "1\n", "" }, { result.status, result.out, result.err })
    end
  end)
end)
