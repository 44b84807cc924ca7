rockspec_format = "3.0"
package = "pmclua"
version = "dev-1"
source = { url = "git+file://." }
description = {
  summary = "Experiments with hardware performance counters on Linux",
  detailed = [[
    A short Lua script says what to count, what to run and how often; the report says how each number was
    obtained. Needs LuaJIT 2.1, a C compiler and make; uses libpfm4, libedit2 and libdw1 if they are installed.]],
  license = "MIT",
  labels = { "performance", "profiling", "linux" },
}
supported_platforms = { "linux" }
-- In fact LuaJIT: the core is called through its FFI.
dependencies = { "lua == 5.1", "lpeg >= 1.0", "dkjson >= 2.5", "luafilesystem >= 1.8" }
build = {
  type = "make",
  build_target = "documents",
  -- Modules and the library go where rocks have theirs; what is found from there is put beside them.
  install_variables = {
    PREFIX = "$(PREFIX)", BINDIR = "$(BINDIR)", LIBEXECDIR = "$(BINDIR)", LUADIR = "$(LUADIR)",
    LIBDIR = "$(LIBDIR)", INCLUDEDIR = "$(LUADIR)/pmclua/include", DATADIR = "$(LUADIR)/pmclua",
  },
  copy_directories = {},
}
