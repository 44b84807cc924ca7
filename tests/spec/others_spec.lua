-- Root among other users: an attacker (user 65534) runs beside each measurement and tries to change what it reads,
-- writes or runs.

local support = require "tests.support"

local KEY = "root's own"

setup(function() support.need(support.have_root(), "it takes root to be attacked by another user") end)

--- Runs `words` beside an attack, Lua code that another user repeats until it is over. It has `found(pattern)`, what
--- a pattern finds in the arguments of all processes and of which, and `try(what, ok)`, which notes what succeeded.
---@return { status: integer, out: string, err: string } result
---@return string noted lines of what the attacker could do, "seen" once he found what to attack
local function attacked(attack, words, options)
  local folder = support.folder()
  local notes = support.write(folder .. "/notes", "")
  os.execute("chmod 666 " .. notes)
  local script = support.write(folder .. "/attack.lua", ([[
    local notes, lfs = io.open(%q, "a"), require "lfs"
    local function note(what) notes:write(what, "\n") notes:flush() end
    local function found(pattern)
      for pid in lfs.dir "/proc" do
        local file = tonumber(pid) and io.open("/proc/" .. pid .. "/cmdline")
        local text = file and file:read "*a" or ""
        if file then file:close() end
        if text:match(pattern) then return text:match(pattern), pid end
      end
    end
    local function try(what, ok) if ok then note(what) end end
    note "ready"
    while true do %s end]]):format(notes, attack))
  local shell = [[
    setpriv --reuid=65534 --regid=65534 --clear-groups timeout 100 "$1" "$2" >/dev/null 2>&1 &
    for i in $(seq 600); do grep -q ready "$3" && break; sleep 0.1; done
    shift 3; "$@"; status=$?
    kill $!; wait $! 2>/dev/null; exit $status]]
  local all = { "sh", "-c", shell, "sh", support.program, script, notes, unpack(words) }
  return support.run(all, options), support.read(notes)
end

describe("a count by Valgrind", function()
  before_each(function()
    support.need(support.have "valgrind", "Valgrind is not installed")
    support.need_unwatched "what Valgrind runs is run under nothing else"
  end)

  local SEEN = [[
    local folder, pid = found("%-%-log%-file=(" .. PLACE .. "/[^%z]*)/log")
    if folder then note "seen" end]]
  local ATTACKS = {
    { "writes to its log", [[
      local log = folder and io.open(folder .. "/log", "w")
      if log then
        for _, line in ipairs { "Command: x", "I   refs:      1" } do
          log:write(("==%d== %s\n"):format(pid, line), ("==77777== %s\n"):format(line))
        end
        note "log" log:close()
      end]] },
    { "writes counts of its own", [[
      for _, name in ipairs { pid, 77777 } do
        local file = folder and io.open(("%s/cachegrind.%s"):format(folder, name), "w")
        if file then file:write "events: Ir\nsummary: 7\n" note "counts" file:close() end
      end]] },
    { "has its counts written elsewhere", [[
      try("link", folder and lfs.link(KEY, folder .. "/cachegrind." .. pid, true))]] },
    { "has it wait for a FIFO", [[
      local fifo = ("mkfifo -m 666 %s/cachegrind.%s 2>/dev/null"):format(folder, pid)
      try("fifo", folder and os.execute(fifo) == 0)]] },
    { "renames its folder", [[try("rename", folder and os.rename(folder, folder .. "-"))]] },
  }
  for _, attack in ipairs(ATTACKS) do
    it("of root's is not changed by another user who " .. attack[1], function()
      local folder = support.folder()
      local key = support.write(folder .. "/key", KEY)
      os.execute("chmod 600 " .. key)
      local words = { support.program, "stat", "--simulate", "-e", "instructions", "-r", "2", "--", "true" }
      local open = { env = { TMPDIR = support.folder() } }
      os.execute("chmod 1777 " .. open.env.TMPDIR)
      local plain = support.run(words, open)
      local script = ("local KEY, PLACE = %q, %q\n%s\n%s"):format(key, open.env.TMPDIR, SEEN, attack[2])
      local result, notes = attacked(script, words, open)
      assert.same({ 0, plain.err }, { result.status, result.err })
      assert.equal(KEY, support.read(key))
      assert.same({ "ready", "seen" }, { notes:match "ready", notes:match "seen" })
      assert.equal("", (notes:gsub("%w+\n", { ["ready\n"] = "", ["seen\n"] = "" })))
    end)
  end

  it("of a command that becomes another user is absent, with what to do", function()
    local words = { "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "true" }
    local result = support.pmclua { "stat", "--simulate", "-e", "instructions", "--", unpack(words) }
    assert.equal(125, result.status)
    assert.matches("became another user: run pmclua as that user", result.err, 1, true)
  end)
end)
