-- scripts/CI.md: its commands run, its job passes and fails as it says, its statuses are those of pmclua.

local support = require "tests.support"

local text = support.read(support.root .. "/scripts/CI.md")
local here = support.folder()

local function with_pmclua(script, folder, limit_s)
  return support.run({ "sh", "-c", ('PATH="%s:$PATH"; %s'):format(here, script) },
    { folder = folder, limit_s = limit_s, env = { XDG_STATE_HOME = here .. "/state" } })
end

os.execute(("ln -s '%s' '%s/pmclua'"):format(support.program, here))

describe("scripts/CI.md", function()
  it("has commands that run and print what is shown", function()
    local folder, count = support.folder(), 0
    for block in text:gmatch "```console\n(.-)```" do
      for command, shown in (block .. "$ "):gmatch "$ ([^\n]+)\n(.-)%f[$]" do
        local got = with_pmclua(command, folder)
        assert.equal(0, got.status, command .. "\n" .. got.err)
        assert.matches(shown, got.out .. got.err, 1, true)
        count = count + 1
      end
    end
    assert.is_true(count > 3)
  end)

  -- A repository of a program that touches so many pages, in the last commit as many as `pages`.
  local function repository(pages)
    local folder = support.folder()
    local top = folder .. "/work"
    local function program(count)
      support.write(top .. "/parse.c", ([[#include <stdlib.h>
        int main(void)
        {
            volatile char *p = malloc(%d * 4096L);
            for (long i = 0; i < %d; i++)
                p[i * 4096] = 1;
            return 0;
        }
        ]]):format(count, count))
    end
    program(1000)      -- address randomisation moves a run by two or three: far less than 1 %
    support.write(top .. "/Makefile", "parse: parse.c\n\tcc -O0 -o parse parse.c\n")
    local git = "git -c user.name=a -c user.email=a@b"
    local script = ("cd %s && %s init -q -b main && git add -A && %s commit -qm one && git update-ref "
      .. "refs/remotes/origin/main HEAD"):format(top, git, git)
    local first = with_pmclua(script)
    assert.equal(0, first.status, first.err)
    program(pages)
    local second = with_pmclua(("cd %s && %s commit -q --allow-empty -am two"):format(top, git))
    assert.equal(0, second.status, second.err)
    return top
  end

  -- Times are left out: this machine may do anything else meanwhile.
  local job = text:match "```sh\n(.-)```":gsub("%-%-limit 'task_clock <= %+3%%' ", ""):gsub("60", "10")

  it("has a job that holds where nothing changed, and exits 3 where a change costs more", function()
    support.need(support.have "cc" and support.have "git", "no C compiler or no git")
    local same = repository(1000)
    local held = with_pmclua(job, same)
    assert.equal(0, held.status, held.err)
    assert.matches('failures="0" errors="0" skipped="0"', support.read(same .. "/gate.xml"), 1, true)
    local more = repository(3000)
    local failed = with_pmclua(job, more)
    assert.equal(3, failed.status, failed.err)
    assert.matches('failures="1"', support.read(more .. "/gate.xml"), 1, true)
    assert.matches('<property name="commit" value="%x+"/>', support.read(more .. "/gate.xml"))
  end)

  it("has an experiment that is one", function()
    local chunk = text:match "```lua\n(.-)```":gsub("%.%./base/parse large.json", "true")
      :gsub("%./parse large.json", "ls /")
    local path = support.write(support.folder() .. "/e.lua", chunk)
    local found = support.pmclua { path, "--repetitions", "8", "--no-store", "--quiet" }
    assert.equal(3, found.status)
    assert.matches("'page_faults <= +1%', new: fails: ", found.err, 1, true)
  end)
end)
