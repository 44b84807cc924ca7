-- A machine that lacks what every machine has: /proc, sysfs, more than a few descriptors. What is said names that, and
-- nothing else is given as the reason.

local support = require "tests.support"

local KERNEL = support.root .. "/tests/faults/scenarios/kernel.lua"

-- Runs pmclua where nothing is mounted on a folder.
local function without(folder, words)
  support.need(support.have_root() and support.have "unshare", "unmounting needs root and unshare")
  support.need_unwatched "a watcher reads /proc, too"
  local covered = ('umount -R %s 2>/dev/null; mount -t tmpfs none %s && exec "$@"'):format(folder, folder)
  local run = support.run { "unshare", "-m", "sh", "-c", covered, "sh", support.program, unpack(words) }
  run.said = (run.out .. run.err):gsub("%s+", " ")
  return run
end

local FALSE_REASONS = { "an error that is no text", "another user", "hidepid", "no uprobe PMU",
  "this Linux cannot count", "virtual machine without", "called exit", "ended with status",
  "linked statically", "does not compile" }

local function assert_no_false_reason(said)
  for _, reason in ipairs(FALSE_REASONS) do
    assert.is_nil(said:find(reason, 1, true), reason .. " in: " .. said)
  end
end

describe("without /proc", function()
  for _, case in ipairs {
    { 0, "stat", "-e", "page-faults", "--", "true" },
    { 125, "stat", "-e", "page-faults", "-p", "1" },
    { 125, "regions", "-e", "page-faults", "-f", "libc.so.6:setlocale", "--", "sort", "/dev/null" },
    { 0, "compare", "--repetitions", "2", "-e", "page-faults", "true", "/bin/true" },
    { 0, "doctor" },
    { 125, "monitor", "-e", "page-faults", "--interval", "10ms", "--", "true" },
  } do
    local status, words = case[1], { unpack(case, 2) }
    it("that is what is said: " .. table.concat(words, " "), function()
      local run = without("/proc", words)
      assert.equal(status, run.status, run.said)
      assert.matches("/proc is not mounted", run.said)
      assert_no_false_reason(run.said)
    end)
  end
end)

describe("without sysfs", function()
  for _, case in ipairs {
    { "sysfs is not mounted on /sys", "stat", "-e", "page-faults", "--", "true" },
    { "there is no /sys/bus/event_source", "stat", "-e", "cycles", "--", "true" },
    { "there is no /sys/bus/event_source", "stat", "-e", "msr/tsc/", "--", "true" },
    { "there is no /sys/bus/event_source", "stat", "-e", "uprobe:/bin/true:0x1000", "--", "true" },
    { "sysfs is not mounted on /sys", "doctor" },
  } do
    local words = { unpack(case, 2) }
    it("that is what is said: " .. table.concat(words, " "), function()
      local run = without("/sys", words)
      assert.matches(case[1], run.said, 1, true)
      assert_no_false_reason(run.said)
    end)
  end
end)

describe("with 6 to 12 descriptors", function()
  for _, words in ipairs {
    { "stat", "-e", "page-faults", "--", "true" },
    { "stat", "-a", "-e", "cpu-clock", "--", "true" },
    { "compare", "--repetitions", "2", "-e", "page-faults", "true", "/bin/true" },
    { "where", "-e", "page-faults", "--", "true" },
    { "monitor", "-e", "page-faults", "--interval", "10ms", "--", "true" },
    { KERNEL, "--no-store", "--repetitions", "1" },
  } do
    it("too few are what is named: " .. table.concat(words, " "):gsub("^/.*/", ""), function()
      support.need_unwatched "it needs more descriptors itself"
      for limit = 6, 12, 2 do
        local run = support.run(support.with_few_descriptors { "sh", "-c",
          ('ulimit -n %d; exec "$@"'):format(limit), "sh", support.program, unpack(words) })
        local said = (run.out .. run.err):gsub("%s+", " ")
        assert.is_true(run.status ~= 0, said)
        assert.is_truthy(said:find "descriptors" or said:find "too many open files", said)
        assert_no_false_reason(said)
      end
    end)
  end
end)
