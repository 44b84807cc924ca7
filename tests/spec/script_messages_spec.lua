-- What scripts say of wrong words on the command line: once who speaks, what is wrong in the command line's own terms, and
-- never a traceback; and what cannot be written is said before anything runs.

local support = require "tests.support"

local function said(...)
  local run = support.pmclua({ ... }, { limit_s = 20 })
  return run.err, run.status
end

-- Words that name no event, time, id, CPU or function, by script and option.
local WRONG = {
  monitor = { "-e", "-M", "--duration", "-p", "-t", "-C", "-I", "-D" },
  stat = { "-e", "-M", "-p", "-t", "-C", "--timeout", "--limit" },
  topdown = { "--below", "--level", "--cores", "-p", "-t", "-C", "--timeout", "--kernel" },
  where = { "-e", "-p", "-t", "-C", "--timeout" },
  why = { "-e", "--budget", "--timeout" },
  compare = { "-e", "-M", "--margin", "--timeout", "--until" },
}

local COMMAND = { why = { "true", "true" }, compare = { "true", "true" } }

describe("a wrong word on the command line", function()
  for script, options in pairs(WRONG) do
    it(("of %s is refused in its own terms, with one prefix"):format(script), function()
      for _, option in ipairs(options) do
        local words = { script, option, "no!nsense", unpack(COMMAND[script] or { "--", "true" }) }
        if option == "-p" or option == "-t" then words = { script, option, "no!nsense" } end
        local text, status = said(unpack(words))
        local about = script .. " " .. option .. ": " .. text
        assert.is_true(status ~= 0 and status ~= 77, about)
        assert.matches("no!nsense", text, 1, true, about)
        assert.is_nil(text:find("traceback", 1, true) or text:find "%.lua:%d", about)
        assert.is_nil(text:find("pmc.", 1, true), about)
        assert.is_nil(text:match("^pmclua " .. script .. ": " .. script .. ":"), about)
      end
    end)
  end

  it("that goes with another option is refused with that option's name", function()
    assert.matches("^pmclua regions: %-%-duration and %-%-duty go with %-p PID\n",
      (said("regions", "--duty", "5%", "-f", "main", "--", "true")))
    assert.matches("^pmclua topdown: %-%-duration goes with %-p, ",
      (said("topdown", "--duration", "1s", "true")))
    assert.matches("^pmclua stat: %-%-vendor takes the path of a folder, not ''",
      (said("stat", "--vendor", "", "true")))
    assert.matches("^pmclua topdown: level must be a whole number", (said("topdown", "-l", "0", "true")))
  end)

  it("that names what cannot be written is refused before anything runs", function()
    local folder = support.folder()
    local there = support.write(folder .. "/there.jsonl", "")
    local ran = folder .. "/ran"
    local none = folder .. "/none/report"
    for _, words in ipairs {
      { "topdown", "-o", none, "--", "touch", ran }, { "topdown", "--store", there, "--", "touch", ran },
      { "topdown", "--plot", folder .. "/tree.bmp", "--", "touch", ran },
      { "where", "-o", none, "--", "touch", ran }, { "where", "--store", there, "--", "touch", ran },
      { "why", "-o", none, "touch " .. ran, "touch " .. ran },
      { "why", "--store", there, "touch " .. ran, "touch " .. ran },
      { "regions", "-o", none, "-f", "main", "--", "touch", ran },
    } do
      local text, status = said(unpack(words))
      assert.is_true(status ~= 0, text)
      assert.is_truthy(text:find "cannot write" or text:find "cannot create" or text:find "written as", text)
      assert.is_false(support.exists(ran), text)
    end
    assert.equal("", support.read(there))
  end)

  it("is shown with the script's usage, also where the script has changed the folder", function()
    local folder = support.folder()
    support.write(folder .. "/moved.lua", "-- Moves.\n-- usage: pmclua moved [--n N]\n"
      .. "require('lfs').chdir '/'\nrequire('pmclua').options { { 'n', 1 } }\n")
    local result = support.pmclua({ "moved.lua", "--m", "3" }, { folder = folder })
    assert.matches("usage: pmclua moved", result.err)
    assert.equal(2, result.status)
  end)
end)
