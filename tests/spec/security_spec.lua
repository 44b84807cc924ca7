--- What is kept from whom: the threat model of SECURITY.md, shown.

local lfs = require "lfs"
local support = require "tests.support"

local KERNEL = support.root .. "/tests/faults/scenarios/kernel.lua"

local function sh(text)
  local result = support.run { "sh", "-ec", text }
  assert.equal(0, result.status, result.err)
end

--- Runs a kernel whose cache is in `folder`.
local function run_kernel(folder)
  return support.pmclua({ KERNEL, "--no-store", "--repetitions", "1" }, { env = { XDG_CACHE_HOME = folder } })
end

describe("the folder of compiled kernels", function()
  before_each(function() support.need(support.have "cc", "no C compiler") end)

  it("is made private, and what is in it too", function()
    local folder = support.folder()
    assert.equal(0, run_kernel(folder).status)
    assert.equal("rwx------", lfs.attributes(folder .. "/pmclua/kernels", "permissions"))
    for name in lfs.dir(folder .. "/pmclua/kernels") do
      local others = lfs.attributes(folder .. "/pmclua/kernels/" .. name, "permissions"):sub(4)
      assert.is_true(name == ".." or not others:find "w", name .. " " .. others)
    end
  end)

  local refused = {
    { "open to others", "chmod 777 F/pmclua/kernels" },
    { "a link", "mv F/pmclua/kernels F/real; ln -s ../real F/pmclua/kernels" },
    { "another's", "chown 65534 F/pmclua/kernels", true },
    { "in a folder of another's", "chown 65534 F/pmclua", true },
    { "in a folder that all may write to", "chmod 777 F/pmclua" },
    { "behind a link to a folder in one that all may write to",
      "mkdir -m 777 F/open; chmod 777 F/open; mv F/pmclua F/open/mine; ln -s open/mine F/pmclua" },
    { "behind a link of another's", "mv F/pmclua F/mine; ln -s mine F/pmclua; chown -h 65534 F/pmclua",
      true },
  }
  for _, case in ipairs(refused) do
    it("is not used where it is " .. case[1], function()
      if case[3] then support.need(support.have_root(), "needs root") end
      local folder = support.folder()
      sh((("mkdir -m 755 F/pmclua; mkdir -m 700 F/pmclua/kernels; " .. case[2]):gsub("F/", folder .. "/")))
      local result = run_kernel(folder)
      assert.equal(0, result.status, result.err)
      assert.matches(("compiled kernels are not kept: %s/pmclua/kernels: others may open or replace it; "
        .. "set XDG_CACHE_HOME to a folder of yours\n"):format(folder), result.err, 1, true)
      assert.equal("", support.output_of(("find %s -type f"):format(folder)))
    end)
  end

  it("may be behind the user's own link", function()
    local folder = support.folder()
    sh(("mkdir %s/real; ln -s real %s/pmclua"):format(folder, folder))
    local result = run_kernel(folder)
    assert.equal(0, result.status, result.err)
  end)
end)

describe("a compiled kernel", function()
  before_each(function() support.need(support.have "cc", "no C compiler") end)
  local compile = require "pmclua.workload.compile"
  local runner = require("pmclua.workload.session").new()
  teardown(function() runner:close() end)

  local UNIT = { label = "two.c", text = '#include "two.h"\nint two(void) { return TWO; }\n' }

  --- Builds UNIT with the header in `folder`; `cc`: a compiler in place of cc.
  local function build(folder, cc)
    return support.with_env({ XDG_CACHE_HOME = folder }, function()
      return compile.build(runner, { label = UNIT.label, text = UNIT.text, folder = folder, cc = cc })
    end)
  end

  --- Writes the header as it was written long ago, that is before the compiler began.
  local function write_header(folder, value)
    sh(("echo '#define TWO %d' >%s/two.h; touch -d '1 minute ago' %s/two.h"):format(value, folder, folder))
  end

  it("is found again, and made again when a header is another", function()
    local folder = support.folder()
    write_header(folder, 2)
    local first = build(folder)
    assert.equal(first, build(folder))
    write_header(folder, 3)
    local second = build(folder)
    assert.are_not.equal(first, second)
    write_header(folder, 2)
    assert.equal(first, build(folder))
  end)

  it("is not found again where a header changed while it was compiled", function()
    local folder = support.folder()
    write_header(folder, 2)
    local cc = support.write(folder .. "/cc", ([[#!/bin/sh
      i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done
      cc "$@" && echo '#define TWO 3' >%s/two.h]]):format(folder))
    sh("chmod 755 " .. cc)
    local first = build(folder, cc)
    assert.are_not.equal(first, build(folder, cc))
  end)

  it("is not found again where the clock was set back while it was compiled", function()
    local folder = support.folder()
    write_header(folder, 2)
    local cc = support.write(folder .. "/cc", ([[#!/bin/sh
      cc "$@" || exit
      case " $* " in *" -c "*) ;; *) exit;; esac
      i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done
      echo >>%s/compiled && echo '#define TWO 3' >%s/two.h
      while [ "$1" != -o ]; do shift; done
      touch -d '1 hour ago' %s/two.h "$2"]]):format(folder, folder, folder))
    sh("chmod 755 " .. cc)
    for _ = 1, 2 do build(folder, cc) end
    assert.equal("\n\n", support.read(folder .. "/compiled"))
  end)

  it("is not found again where the list of its headers is not whole", function()
    local folder = support.folder()
    write_header(folder, 2)
    local cc = support.write(folder .. "/cc", ([[#!/bin/sh
      cc "$@" || exit
      case " $* " in *" -c "*) echo >>%s/compiled;; esac
      i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done
      for word; do case $word in *.d) printf 'two.so: two' >"$word";; esac; done]]):format(folder))
    sh("chmod 755 " .. cc)
    build(folder, cc)
    build(folder, cc)
    assert.equal("\n\n", support.read(folder .. "/compiled"))
  end)
end)

describe("a stored result", function()
  local HOSTILE = "=cmd|'/C calc'!A0"

  --- A result whose names and texts want to be more than text.
  local function stored(folder)
    local script = support.write(folder .. "/hostile.lua", ([==[
      local pmc = require "pmclua"
      return pmc.experiment {
        question = "\27]0;title\7 `touch %s/owned` $(touch %s/owned)",
        events = { "page-faults" }, repetitions = 8, warmup = 0, baseline = [[%s]],
        workloads = { pmc.command { "true", name = [[%s]] },
          pmc.command { "true", name = "\27[31mred\7`touch %s/owned`\r\n<script>" } },
      }]==]):format(folder, folder, HOSTILE, HOSTILE, folder))
    local result = support.pmclua { script, "--store", folder .. "/stored.jsonl" }
    assert.equal(0, result.status, result.err)
    return folder .. "/stored.jsonl", result.out .. result.err
  end

  it("is its owner's alone where nobody named it, and as the umask has it where somebody did", function()
    local folder = support.folder()
    assert.equal(0, support.pmclua({ KERNEL, "--repetitions", "1", "--quiet" },
      { env = { XDG_STATE_HOME = folder } }).status)
    local results = folder .. "/pmclua/results"
    assert.equal("rwx------", lfs.attributes(results, "permissions"))
    for name in lfs.dir(results) do
      local own = name:find "jsonl$" and lfs.attributes(results .. "/" .. name, "permissions")
      assert.equal(own and "rw-------", own)
    end
    local plain = support.write(folder .. "/plain", "")
    assert.equal(lfs.attributes(plain, "permissions"), lfs.attributes((stored(folder)), "permissions"))
  end)

  it("is not written through a link", function()
    local folder = support.folder()
    sh(("ln -s %s/elsewhere %s/stored.jsonl"):format(folder, folder))
    local result = support.pmclua { KERNEL, "--repetitions", "1", "--store", folder .. "/stored.jsonl" }
    assert.equal(1, result.status)
    assert.is_nil(lfs.attributes(folder .. "/elsewhere"))
  end)

  it("says nothing to a terminal, a spreadsheet, a browser or a shell", function()
    local folder = support.folder()
    local path, said = stored(folder)
    assert.is_nil(said:gsub("\n", ""):find "%c")
    for _, format in ipairs { "table", "csv", "json", "markdown", "html" } do
      local result = support.pmclua { "report", path, "--format", format }
      assert.equal(0, result.status, result.err)
      assert.is_nil((result.out .. result.err):gsub("\n", ""):find "%c", format)
      assert.is_nil(result.out:find("<script>", 1, true) and format ~= "json" and format ~= "csv"
        and format ~= "table" or nil, format)
      if format == "csv" then assert.is_nil(("\n" .. result.out):find "[\n,]\"?=") end
    end
    assert.is_nil(lfs.attributes(folder .. "/owned"))
  end)

  it("runs nothing when it is drawn", function()
    support.need(support.have "gnuplot", "no gnuplot")
    local folder = support.folder()
    local path = stored(folder)
    support.pmclua({ "plot", path, "--output", folder .. "/plot.svg" }, { folder = folder })
    assert.is_nil(lfs.attributes(folder .. "/owned"))
    assert.is_truthy(lfs.attributes(folder .. "/plot.svg"))
  end)

  it("is data: text that looks like code is not run", function()
    local folder = support.folder()
    local path = support.write(folder .. "/code.jsonl", "os.execute('touch " .. folder .. "/owned')\n")
    assert.equal(1, support.pmclua({ "report", path }).status)
    assert.is_nil(lfs.attributes(folder .. "/owned"))
  end)
end)
