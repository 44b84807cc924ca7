-- Installation: what `make install` puts where, that it works from there, and that nothing is left of it.

local markdown = require "tests.support.markdown"
local support = require "tests.support"

-- As root whose files are private unless he says otherwise.
local function make(...)
  local command = { "sh", "-c", 'umask 077; exec "$@"', "sh", "make", "-s", "-C", support.root, ... }
  local result = support.run(command, { limit_s = 120 })
  assert.equal(0, result.status, result.err)
end

--- Paths of all files below a folder, from there, sorted.
local function files_of(folder)
  local list = {}
  for path in support.run({ "find", ".", "-type", "f" }, { folder = folder }).out:gmatch "[^\n]+" do
    list[#list + 1] = path:sub(3)
  end
  table.sort(list)
  return list
end

local has = require("pmclua.base.lists").contains

describe("the build", function()
  it("takes the preprocessor's flags of its caller, for every file, as packages harden with them", function()
    local run = support.run { "make", "-n", "-B", "-C", support.root, "BUILD=" .. support.folder(),
      "CPPFLAGS=-DHARDENED=1", "all" }
    local files, hardened = 0, 0
    for line in run.out:gmatch "[^\n]+" do
      if line:find " core/[%w_/]+%.c$" then
        files, hardened = files + 1, hardened + (line:find("-DHARDENED=1", 1, true) and 1 or 0)
      end
    end
    assert.is_true(files > 30, run.err)
    assert.equal(files, hardened)
  end)
end)

describe("an installation", function()
  local stage, prefix, files

  lazy_setup(function()
    stage = support.folder()
    prefix = stage .. "/opt/tools"
    make("install", "DESTDIR=" .. stage, "PREFIX=/opt/tools")
    files = files_of(prefix)
  end)

  local function run(args, options)
    return support.run({ prefix .. "/bin/pmclua", unpack(args) }, options)
  end

  it("goes on where it is replaced while it runs", function()
    local program = prefix .. "/bin/pmclua"
    local script = support.write(support.folder() .. "/twice.lua", ([[
      local pmc = require "pmclua"
      local function measure()
        return pmc.measure("true", { events = "page-faults", repetitions = 1 }).status
      end
      local before = measure()
      os.execute "cp '%s' '%s.new' && mv '%s.new' '%s'"
      print(before, measure())]]):format(program, program, program, program))
    assert.equal("complete\tcomplete\n", run({ script }).out)
  end)

  it("has the program, the runner, the library, modules, scripts, headers, pages and documents", function()
    for _, path in ipairs { "bin/pmclua", "libexec/pmclua/pmclua-runner", "lib/pmclua/libpmclua.so",
      "share/lua/5.1/pmclua/init.lua", "share/lua/5.1/pmclua/cdef.lua", "share/pmclua/scripts/matrix.lua",
      "share/pmclua/scripts/kernels/matrix.c", "share/pmclua/editor/pmclua.lua",
      "include/pmclua_kernel.h", "include/pmclua_mark.h", "include/pmclua_mark.f90",
      "share/man/man1/pmclua.1", "share/man/man1/pmclua-matrix.1", "share/pkgconfig/pmclua.pc",
      "share/bash-completion/completions/pmclua", "share/zsh/site-functions/_pmclua",
      "share/fish/vendor_completions.d/pmclua.fish", "share/doc/pmclua/README.md",
      "share/doc/pmclua/doc/tutorial.md", "share/doc/pmclua/lua/REFERENCE.md",
      "share/doc/pmclua/CHANGELOG.md" } do
      assert.is_true(has(files, path), path)
    end
  end)

  it("has documents whose links hold where they are installed", function()
    for _, path in ipairs(files) do
      local page = path:match "^share/doc/pmclua/(.*%.md)$"
      for _, link in ipairs(page and markdown.links(support.read(prefix .. "/" .. path)) or {}) do
        local file = link:match "^[^#]+"
        local is_there = not file or file:find "^%a+:" or has(files, markdown.beside(path, file))
        assert.is_truthy(is_there, page .. ": " .. link)
      end
    end
  end)

  it("is everybody's to read and run, whatever the umask was", function()
    local private = support.run { "find", prefix, "!", "-perm", "-a=r", "-o", "-type", "d", "!", "-perm",
      "-a=x" }
    assert.equal("", private.out)
  end)

  it("has a page for every script", function()
    for _, path in ipairs(files) do
      local name = path:match "^share/pmclua/scripts/([^/]+)%.lua$"
      if name then assert.is_true(has(files, ("share/man/man1/pmclua-%s.1"):format(name)), name) end
    end
  end)

  it("runs commands, scripts by name and kernels from where it is", function()
    assert.matches("^pmclua ", run({ "-v" }).out)
    assert.equal(0, run({ "stat", "-e", "page-faults", "--", "true" }).status)
    assert.matches("\nmatrix ", run({ "--list" }).out)
    support.need(support.have "cc", "no C compiler")
    local result = run { "matrix", "--set", "n=16", "--repetitions", "2", "--no-store", "--format", "csv" }
    assert.equal("", result.err:match "pmclua:[^\n]*" or "")
    assert.matches("\nrows,16,", result.out)
  end)

  it("is there for a plain luajit, which finds library, runner and headers by the modules' place", function()
    support.need_unwatched("a plain luajit has not begun with it", "asan")
    support.need(support.have "luajit", "luajit is not installed")
    local modules = prefix .. "/share/lua/5.1"
    local result = support.run({ "luajit", "-e", [[
      local pmc = require "pmclua"
      local r = pmc.measure("true", { events = "page-faults", repetitions = 2, quiet = true })
      print(pmc.version, r:cells()().page_faults.n, #require("pmclua.cli.script").all() > 0)
      print(io.open(require("pmclua.host.paths").include() .. "/pmclua_kernel.h") ~= nil)]] },
      { env = { LUA_PATH = ("%s/?.lua;%s/?/init.lua;;"):format(modules, modules) } })
    assert.same({ "", 0 }, { result.err, result.status })
    assert.equal(require("pmclua.core").version .. "\t2\ttrue\ntrue\n", result.out)
  end)

  it("tells pkg-config where the headers are, and the version", function()
    local text = support.read(prefix .. "/share/pkgconfig/pmclua.pc")
    assert.matches("\nincludedir=/opt/tools/include\n", text)
    assert.matches("\nCflags: %-I%${includedir}\n", text)
    assert.matches("\nVersion: " .. require("pmclua.core").version:gsub("%.", "%%.") .. "\n", text)
  end)

  it("has one version, in VERSION", function()
    local version = support.read(support.root .. "/VERSION"):match "^(%S+)\n$"
    assert.equal(version, require("pmclua.core").version)
    assert.equal(version, support.read(support.root .. "/debian/changelog"):match "^pmclua %(([%d.]+)%)")
    assert.matches('TH PMCLUA 1 %d%d%d%d%-%d%d%-%d%d "pmclua ' .. version:gsub("%.", "%%."),
      support.read(prefix .. "/share/man/man1/pmclua.1"))
  end)

  it("leaves no file behind when it is undone", function()
    local other = support.folder()
    make("install", "DESTDIR=" .. other, "PREFIX=/usr")
    support.write(other .. "/usr/bin/other", "not pmclua's")
    make("uninstall", "DESTDIR=" .. other, "PREFIX=/usr")
    assert.same({ "usr/bin/other" }, files_of(other))
  end)
end)

describe("the manual pages", function()
  local folder

  lazy_setup(function()
    folder = support.folder()
    local root = support.root
    local written = support.pmclua { root .. "/lua/install/write.lua", root .. "/scripts", folder }
    assert.equal("", written.err)
  end)

  local function rendered(page)
    return support.run({ "man", "-l", ("%s/man/%s.1"):format(folder, page) },
      { env = { MANWIDTH = "80", LC_ALL = "C.UTF-8", MANPAGER = "cat" } }).out
  end

  it("are without errors for mandoc and groff", function()
    support.need(support.have "mandoc" or support.have "man", "neither mandoc nor man is installed")
    for path in io.popen(("ls %s/man/*.1"):format(folder)):lines() do
      if support.have "mandoc" then
        assert.equal("", support.run({ "mandoc", "-Tlint", "-Wwarning", path }).out)
      end
      if support.have "man" then
        local result = support.run({ "man", "--warnings", "-l", path }, { env = { LC_ALL = "C.UTF-8" } })
        assert.equal("", result.err)
      end
    end
  end)

  it("say what --help says", function()
    support.need(support.have "man", "man is not installed")
    local page = rendered "pmclua-stat"
    assert.matches("\n%s+%-r, %-%-repeat N\n%s+[Rr]un the command N times", page)
    for option in support.pmclua({ "stat", "--help" }).out:gmatch "\n  [-%w, ]*(%-%-[%w-]+)" do
      assert.is_truthy(page:find(option, 1, true), option)
    end
    page = rendered "pmclua"
    for _, word in ipairs { "--list", "--repetitions", "77", "PMCLUA_PATH", "pmclua-stat(1)" } do
      assert.is_truthy(page:find(word, 1, true), word)
    end
  end)
end)
