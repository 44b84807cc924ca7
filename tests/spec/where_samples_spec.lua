-- Profiles by samples: shares as the program measured them itself, and sums that equal what was counted.

local lists = require "pmclua.base.lists"
local support = require "tests.support"
local where = require "tests.support.where"

local function loops(milliseconds, event, options)
  local took = support.folder() .. "/took"
  local profiles = where.profiles({ where.program "loops.c", took, tostring(milliseconds) }, event, options)
  local short, long = support.read(took):match "(%d+) (%d+)"
  return profiles, tonumber(short), tonumber(long)
end

local function samples_of(profile, fn)
  local sum = 0
  for _, line in ipairs(profile.lines) do
    if line.fn == fn then sum = sum + line.samples end
  end
  return sum
end

describe("a profile by samples", function()
  it("gives two loops the shares of CPU time that the program measured, within binomial bounds", function()
    local profiles, short, long = loops(400, "cpu-clock")
    local n1, n3 = samples_of(profiles[1], "short_loop"), samples_of(profiles[1], "long_loop")
    local n, share = n1 + n3, long / (short + long)
    assert.is_true(n > 200, n)
    -- Five standard deviations: one run in two million is further off.
    local bound = 5 * math.sqrt(n * share * (1 - share)) + 1
    assert.is_true(math.abs(n3 - n * share) <= bound, ("%d of %d, %.3f"):format(n3, n, share))
  end)

  it("adds up to what was counted, to the last count, for every event and with children", function()
    for _, event in ipairs { "cpu-clock", "cpu-clock:u", "task-clock", "page-faults", "context-switches" } do
      local command = { "sh", "-c", "for i in 1 2 3 4 5; do ls / >/dev/null; done" }
      for _, profile in ipairs(where.profiles(command, event, { repetitions = 2 })) do
        assert.equal(profile.total, where.sum(profile), event)
        for _, line in ipairs(profile.lines) do
          local sum = 0
          for _, at in ipairs(line.at) do sum = sum + at.count end
          assert.equal(line.count, sum)
          assert.equal(line.count, line.samples * profile.period)
        end
      end
    end
  end)

  -- What each counted since its last sample is not known, but no more than it lived.
  it("does not take what Linux did for what short threads did after their last samples", function()
    local profile = where.profiles({ where.program("reads.c", "-lpthread"), "100" }, "cpu-clock:u")[1]
    local short, in_linux = profile.rest.tasks_too_short or 0, profile.rest.kernel_unsampled or 0
    assert.is_true(short > 0 and short < in_linux / 4, ("%d of %d"):format(short, profile.total))
  end)

  it("draws another prime period for each repetition, of no less than 0.1 ms for a clock", function()
    local first
    for i, profile in ipairs(loops(30, "cpu-clock", { repetitions = 4 })) do
      local period = profile.period
      assert.is_true(period >= 1e5, period)
      for divisor = 2, math.floor(math.sqrt(period)) do
        assert.not_equal(0, period % divisor, ("%d = %d * …"):format(period, divisor))
      end
      assert.is_true(i == 1 or period ~= first)
      first = first or period
    end
  end)

  it("tells of samples that found no room in a ring, each of them", function()
    local command = { where.program("faults.c", "-ldl", "-lpthread"), "children", "children", "children" }
    local lost, problem = 0, nil
    for _ = 1, 5 do
      local profiles, result = where.profiles(command, "page-faults", { ring_bytes = 4096 })
      for _, profile in ipairs(profiles) do           -- none where Linux could not count it
        assert.equal(profile.total, where.sum(profile))
        lost = lost + (profile.rest.lost or 0)
        assert.equal(profile.rest.lost and true or nil, not profile.exact or nil)
      end
      problem = problem or result.problem
      if lost > 0 then break end
    end
    assert.is_true(lost > 0, "nothing was lost in a ring of one page: " .. tostring(problem))
  end)

  it("is one of user space where its user may see no more, and says what is missing", function()
    support.need(support.have_root(), "not root")
    support.need((tonumber(support.read "/proc/sys/kernel/perf_event_paranoid") or 4) == 2,
      "perf_event_paranoid is not 2")
    local result = support.run { "setpriv", "--reuid=1001", "--regid=1001", "--clear-groups", support.program,
      "where", "-e", "cpu-clock", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=4M", "count=1000" }
    assert.equal(0, result.status, result.err)
    assert.matches("in Linux, not sampled", result.err)
    assert.matches("\ntotal", result.err)
    assert.not_matches("%[linux%]", result.err)
  end)

  it("of an event that can only be counted is refused, with the reason", function()
    support.need(support.have_root() and support.exists "/sys/bus/event_source/devices/msr", "no msr events")
    local result = support.pmclua { "where", "-e", "msr/tsc/", "--", "true" }
    assert.equal(125, result.status)
    assert.matches("msr/tsc/ can be counted here, and not sampled", result.err)
  end)
end)

describe("profiles beside perf record", function()
  -- Page faults of a program at fixed addresses, of each function of each file, sorted.
  local function of_perf(words)
    local data = support.folder() .. "/perf.data"
    local recorded = support.run { "perf", "record", "-e", "page-faults", "-c", "1", "-o", data, "--",
      unpack(words) }
    support.need(recorded.status == 0, "perf record does not run here: " .. recorded.err)
    local shown = support.run { "perf", "report", "-i", data, "--stdio", "--sort", "dso,symbol", "-F",
      "sample,dso,symbol" }
    local counts = {}
    for count, dso, level in shown.out:gmatch "\n%s+(%d+)%s+(%S+)%s+%[(.)%]" do
      local file = level == "k" and "[linux]" or dso
      counts[file] = counts[file] or {}
      table.insert(counts[file], tonumber(count))
    end
    return counts
  end

  local function of_ours(words)
    local counts = {}
    for _, line in ipairs(where.profiles(words, "page-faults")[1].lines) do
      local file = line.file:match "[^/]+$"
      counts[file] = counts[file] or {}
      table.insert(counts[file], line.count)
    end
    return counts
  end

  -- How alike two lists are: the part of their counts that agrees.
  local function agreement(ours, theirs)
    local same, all = 0, 0
    for file, list in pairs(theirs) do
      local mine = ours[file] or {}
      table.sort(list)
      table.sort(mine)
      for i = 0, math.max(#list, #mine) - 1 do
        local a, b = list[#list - i] or 0, mine[#mine - i] or 0
        same, all = same + math.min(a, b), all + math.max(a, b)
      end
    end
    return same / all
  end

  for _, words in ipairs { { "perl", "-e", "my %h; $h{$_} = $_ for 1..3000" }, { "bash", "-c", ":" } } do
    it("have the same faults in as many functions of the same files: " .. words[1], function()
      support.need(support.have "perf", "no perf")
      local command = { "setarch", "-R", unpack(words) }
      -- What lies in the page cache may change meanwhile: two runs of perf itself agree by 0.94 to 0.97.
      local best = 0
      for _ = 1, 4 do
        best = math.max(best, agreement(of_ours(command), of_perf(command)))
        if best > 0.93 then break end
      end
      assert.is_true(best > 0.93, best)
    end)
  end
end)

describe("instructions of code that was made at run time", function()
  it("are apart however far up in memory they are", function()
    local code = { { 140733498177144, 3 }, { 140733498177141, 4 }, { 140733498177144, 2 } }
    local samples = { total = 9, samples = 9, period = 1, lost = 0, unmapped = 0, begun = 0, throttled = 0,
      tasks = 0, files = { { path = "[memory]", pid = 7 } }, each = function()
        local i = 0
        return function()
          i = i + 1
          if code[i] then return 1, code[i][1], code[i][2], 0 end
        end
      end }
    local attribution = { place = function() return { fn = "made" } end, keep_code = function() end,
      complete = function() return false end, sources = function() return {} end }
    local event = { name = "page-faults", unit = "", attr = {} }
    local profile = require("pmclua.profile.make").new(samples, event, attribution)
    local counts = lists.map(profile.lines[1].at, function(at) return { at.address, at.count } end)
    assert.same({ { 140733498177141, 4 }, { 140733498177144, 5 } }, counts)
  end)
end)
