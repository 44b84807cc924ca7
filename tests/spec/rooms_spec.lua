-- tests/rooms.lua finds what is planted in a small tree, and nothing in the tree without it.

local support = require "tests.support"

local CHECK = support.root .. "/tests/rooms.lua"

-- A tree in order: two rooms, two folders.
local function tree()
  return {
    ["lua/README.md"] = "# lua\n\n## Rooms\n\n| room | what | modules |\n|---|---|---|\n"
      .. "| base | text | text |\n| workload | kinds | kinds |\n| cli | options | options |\n\n## End\n",
    ["lua/REFERENCE.md"] = "# reference\n",
    ["lua/pmclua/init.lua"] = 'return require "pmclua.cli.options"\n',
    ["lua/pmclua/base/text.lua"] = "---@class pmclua.Text\nlocal M = {}\n\nfunction M.short() end\n\n"
      .. "return M\n",
    ["lua/pmclua/cli/options.lua"] = 'local text = require "pmclua.base.text"\ntext.short()\nreturn {}\n',
    ["lua/pmclua/workload/kinds.lua"] = 'local KINDS = {\n  command = { per = "run" },\n'
      .. '  ["function"] = { per = "run" },\n}\nif kind == "command" then return KINDS end\n',
    ["scripts/first.lua"] = "return {}\n",
    ["tests/run.lua"] = "return {}\n",
    ["core/README.md"] = "# core\n\n## Folders\n\n| folder | what |\n|---|---|\n| host | facts |\n"
      .. "| runner | runs |\n\n## End\n",
    ["core/pmclua.h"] = "#define A\n\nint pmclua_pid(void);\n",
    ["core/host/host.h"] = '#include "pmclua.h"\n\n/* Facts. */\n'
      .. "int  host_facts(int first,\n                int second);\n",
    ["core/host/host.c"] = '#include "host/host.h"\n\nint host_facts(int a, int b) { return a + b; }\n'
      .. "int pmclua_pid(void) { return 1; }\n",
    ["core/runner/main.c"] = '#include "host/host.h"\n\n'
      .. "int main(void) { return host_facts(1, pmclua_pid()); }\n",
  }
end

local function findings(changes)
  local folder, sources = support.folder(), tree()
  for path, text in pairs(changes) do sources[path] = text end
  for path, text in pairs(sources) do
    local name = path:match "^lua/.-(%w+/init%.lua)$" or path:match "^lua/.*/(%w+%.lua)$"
    local has_header = not name or text:find "^%-%-%- "
    support.write(folder .. "/" .. path, has_header and text or ("--- %s: a room's.\n%s"):format(name, text))
  end
  return support.run({ "luajit", CHECK }, { folder = folder })
end

local function finds(expected, changes)
  local ran = findings(changes)
  assert.same({ expected .. "\n", 1 }, { ran.out, ran.status })
end

describe("the check of rooms", function()
  it("finds nothing in a tree that is in order", function()
    local ran = findings {}
    assert.same({ "", 0 }, { ran.out, ran.status })
  end)

  it("finds a module that requires one of a later room", function()
    finds("lua/pmclua/base/text.lua: base requires cli, which comes after it", {
      ["lua/pmclua/base/text.lua"] = 'local M = { options = require("pmclua.cli.options") }\n'
        .. "function M.short() end\nreturn M\n" })
  end)

  it("passes over a requirement that is only in a comment", function()
    local ran = findings {
      ["lua/pmclua/base/text.lua"] = '-- see require "pmclua.cli.options"\nlocal M = {}\n'
        .. "function M.short() end\nreturn M\n" }
    assert.equal("", ran.out)
  end)

  it("finds a module that the map lacks, and a room", function()
    finds("lua/pmclua/base/units.lua: base/units is missing from the map of lua/README.md",
      { ["lua/pmclua/base/units.lua"] = "return {}\n" })
    finds("lua/pmclua/attic/old.lua: the room attic is not in the map of lua/README.md\n"
      .. "lua/pmclua/attic/old.lua: attic/old is missing from the map of lua/README.md",
      { ["lua/pmclua/attic/old.lua"] = "return {}\n" })
  end)

  it("finds a class that is declared twice", function()
    finds("lua/pmclua/cli/options.lua: the class pmclua.Text is declared in lua/pmclua/base/text.lua, too", {
      ["lua/pmclua/cli/options.lua"] = "---@class pmclua.Text\n"
        .. 'require("pmclua.base.text").short()\nreturn {}\n' })
  end)

  it("finds an export that nothing but a test uses, and none that users are told of", function()
    local more = tree()["lua/pmclua/base/text.lua"]:gsub("return M", "function M.long() end\n\nreturn M")
    local spec = 'require("pmclua.base.text").long()\n'
    finds("lua/pmclua/base/text.lua: nothing but tests uses M.long",
      { ["lua/pmclua/base/text.lua"] = more, ["tests/spec/text_spec.lua"] = spec })
    assert.equal("", findings({ ["lua/pmclua/base/text.lua"] = more,
      ["lua/REFERENCE.md"] = "`text.long()`: long.\n" }).out)
  end)

  it("finds a file whose first comment names another one", function()
    finds("lua/pmclua/base/text.lua: it begins with the name words.lua",
      { ["lua/pmclua/base/text.lua"] = "--- words.lua: words.\n" .. tree()["lua/pmclua/base/text.lua"] })
    finds("core/host/host.h: it begins with the name host.c",
      { ["core/host/host.h"] = "/*\n * host.c: facts.\n */\n" .. tree()["core/host/host.h"] })
  end)

  it("finds tests of a workload's kind, and tables by kind, outside of its room", function()
    local tests = { 'cell.kind == "command"', '"function" ~= workload.kind', "WORDS[cell.workload.kind]" }
    for _, test in ipairs(tests) do
      finds("scripts/first.lua: it tests a workload's kind: ask for a fact of lua/pmclua/workload/kinds.lua",
        { ["scripts/first.lua"] = ("return %s\n"):format(test) })
    end
    local others = 'return opt.kind == "scaling" or type(f) == "function"\n'
    assert.equal("", findings({ ["scripts/first.lua"] = others }).out)
  end)

  it("finds fewer tests of a kind than it allows", function()
    local path = "lua/pmclua/why/lines.lua"
    assert.is_truthy(findings({ [path] = "return {}\n" }).out
      :find(path .. ": tests/rooms.lua allows it more tests of kinds than it has", 1, true))
  end)

  it("finds what opens files or writes to streams, and has others for it", function()
    finds("lua/pmclua/cli/options.lua: io.stderr is for others: host/output public", {
      ["lua/pmclua/cli/options.lua"] = 'require("pmclua.base.text").short()\n'
        .. 'io.stderr:write "x"\nreturn {}\n' })
    local ran = findings { ["scripts/first.lua"] = '-- io.open\nlocal file = io.open "x"\n' }
    assert.matches("^scripts/first.lua: io.open is for others", ran.out)
  end)

  it("finds a C file, and a header, that includes one of a later folder", function()
    local runner = '#include "pmclua.h"\n\nint run(void);\n'
    local main = '#include "runner.h"\nint run(void) { return 1; }\n' .. tree()["core/runner/main.c"]
    local uses = { ["core/host/host.c"] = "run();\n", ["core/host/host.h"] = "int x = sizeof run();\n" }
    for path, text in pairs(uses) do
      finds(path .. ": host includes a header of runner, which comes after it",
        { [path] = tree()[path] .. '#include "runner/runner.h"\n' .. text, ["core/runner/runner.h"] = runner,
          ["core/runner/main.c"] = main })
    end
  end)

  it("finds a C function that no file uses but its own", function()
    finds("core/host/host.h: no other file uses host_more", {
      ["core/host/host.h"] = tree()["core/host/host.h"]
        .. "\n/* host_more is here. */\nint host_more(void);\n",
      ["core/host/host.c"] = tree()["core/host/host.c"] .. "int host_more(void) { return host_more(); }\n" })
    finds("core/pmclua.h: no other file uses pmclua_more", {
      ["core/pmclua.h"] = tree()["core/pmclua.h"] .. "const char *pmclua_more(int32_t errnum);   /* a */\n",
      ["core/host/host.c"] = tree()["core/host/host.c"]
        .. "const char *pmclua_more(int32_t e) { return 0; }\n" })
  end)

  it("finds a file of more than 450 lines, and none in what programs include alone", function()
    for _, path in ipairs { "scripts/first.lua", "tests/run.lua", "core/runner/main.c" } do
      local text = tree()[path]
      local longest = text .. ("\n"):rep(450 - select(2, text:gsub("\n", "")))
      assert.equal("", findings({ [path] = longest }).out)
      finds(path .. ": it has 451 lines, more than 450: divide it by subject", { [path] = longest .. "\n" })
    end
    assert.equal("", findings({ ["core/pmclua_mark.h"] = ("\n"):rep(800) }).out)
  end)
end)
