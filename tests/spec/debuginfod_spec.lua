-- Debug information from servers: asked for what will be shown and nothing else, for a limited time, and said.

local ffi = require "ffi"
local support = require "tests.support"

ffi.cdef [[
int spec_socket(int domain, int kind, int protocol) __asm__("socket");
int spec_listen(int fd, int most) __asm__("listen");
int spec_getsockname(int fd, void *address, unsigned *bytes) __asm__("getsockname");
int spec_close(int fd) __asm__("close");
]]

local AF_INET, SOCK_STREAM = 2, 1

-- The address of a server that takes connections and never answers; it ends with the test.
local function silent_server()
  local fd = ffi.C.spec_socket(AF_INET, SOCK_STREAM, 0)
  local address, bytes = ffi.new "uint8_t[16]", ffi.new("unsigned[1]", 16)
  support.need(fd >= 0 and ffi.C.spec_listen(fd, 8) == 0, "no socket can be listened on")
  finally(function() ffi.C.spec_close(fd) end)
  assert.equal(0, ffi.C.spec_getsockname(fd, address, bytes))
  return ("http://127.0.0.1:%d"):format(address[2] * 256 + address[3])
end

local SOURCE = [[
#include <sys/mman.h>
__attribute__((noinline)) static void touch(char *at, int pages)
{
    for (int i = 0; i < pages; i++)
        at[i * 4096] = 1;
}
int main(void)
{
    char *at = mmap(0, 4096 * 501, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(at, 4096 * 501, MADV_NOHUGEPAGE);
    touch(at, 500);
    return 0;
}
]]

-- A stripped program, one that is whole, and a folder that serves the debug information of both.
local function programs()
  for _, tool in ipairs { "cc", "objcopy", "readelf" } do support.need(support.have(tool), "no " .. tool) end
  local folder = support.folder()
  local whole, stripped = folder .. "/whole", folder .. "/stripped"
  support.write(folder .. "/touch.c", SOURCE)
  support.build(whole, "cc", "-O1", "-g", "-Wl,--build-id=sha1", folder .. "/touch.c")
  local id = support.run({ "readelf", "-n", whole }).out:match "Build ID: (%x+)"
  local served = ("%s/served/buildid/%s"):format(folder, id)
  assert.equal(0, support.run({ "mkdir", "-p", served }).status)
  assert.equal(0, support.run({ "objcopy", "--only-keep-debug", whole, served .. "/debuginfo" }).status)
  assert.equal(0, support.run({ "strip", "-o", stripped, whole }).status)
  return { whole = whole, stripped = stripped, urls = "file://" .. folder .. "/served",
    cache = folder .. "/cache" }
end

local function run(urls, cache, ...)
  return support.run { "env", "DEBUGINFOD_URLS=" .. urls, "DEBUGINFOD_CACHE_PATH=" .. cache, "timeout", "100",
    support.program, ... }
end

describe("debug information from servers", function()
  lazy_setup(function()
    local symbols = require "pmclua.core.symbols"
    local _, code = symbols.debug_file("00", 1)
    support.need(code ~= "ELIBACC", "no libdebuginfod")
  end)

  it("names what would be shown without a name, and is said", function()
    local made = programs()
    local shown = run(made.urls, made.cache, "where", "-e", "page-faults", "--", made.stripped)
    assert.matches("\ntouch +500 ", shown.err)
    assert.matches("the servers of DEBUGINFOD_URLS were asked for the debug information of", shown.err)
    local chunk = ('print(require("pmclua.event.functions").offset(%q, "touch"))'):format(made.stripped)
    assert.matches("^%d+\n$", run(made.urls, made.cache, "-e", chunk).out)
    assert.matches("^nil\t", run("", made.cache, "-e", chunk).out)
  end)

  it("is not asked for where nothing would be shown that lacks it", function()
    local made = programs()
    local shown = run(silent_server(), made.cache, "where", "-e", "page-faults:u", "--", made.whole)
    assert.matches("\ntouch +500 ", shown.err)
    assert.not_matches("whole, for", shown.err)
  end)

  it("is asked for for a limited time", function()
    local chunk = 'print(require("pmclua.core.symbols").debug_file(("ab"):rep(20), 0.2))'
    local said = run(silent_server(), support.folder(), "-e", chunk)
    assert.matches("^nil\tETIMEDOUT", said.out)
  end)

  it("that no server has is said to be missing", function()
    local made = programs()
    local shown = run(made.urls .. "/none", made.cache, "where", "-e", "page-faults", "--", made.stripped)
    assert.matches("they have%s+none", shown.err)
    assert.matches("stripped%+0x%x+ +500 ", shown.err)
  end)
end)
