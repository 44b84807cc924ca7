-- bisect_built.lua: does bisect name the commit in real repositories with real builds, whose truth is known?
--
-- usage: [CPU=N] ./pmclua tests/truths/bisect_built.lua counts|times [HISTORIES] [FIRST SEED]
--        ./pmclua tests/truths/bisect_built.lua kills [KILLS] [FIRST SEED]
--        (counts is part of make check-bisect)
-- Each history is of 16 to 24 commits of a small C program: most change text or code that is not run, one or two plant
-- work that stays; with counts there is as much work that a later commit reverts, and a merge whose branch may bring
-- the step: --all must name all that lasts, without it a step that lasts must be named. With times commits add functions
-- that move the others, and the planted work is +5 %. Exit 1 where an answer is wrong.
-- Builds take gcc and git alone. With CPU=N all of it runs on that CPU: so several can run side by side, each on its own
-- CPU from its own FIRST SEED. Answers go to standard error, standard output has the one line of totals. With kills,
-- searches by counts are killed at random moments and gone on with: the answer must be that of a search that nobody
-- killed, and nothing that was built is built again.

dofile((debug.getinfo(1, "S").source:sub(2):gsub("truths/[^/]*$", "")) .. "support/program.lua")

local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local random = require "pmclua.stats.random"
local support = require "tests.support"

local kind, histories, first = arg[1] or "counts", tonumber(arg[2]) or 100, tonumber(arg[3]) or 1

-- Functions in an order that {seed} draws: paragraphs of the source, of which the first stays.
local SHUFFLED = [[awk -v RS= 'BEGIN { srand({seed}) } { part[NR] = $0 } END { print part[1];
  for (n = NR; n > 1; n--) { i = 2 + int(rand() * (n - 1)); print part[i]; part[i] = part[n] } }' prog.c |
  cc -O1 -fno-toplevel-reorder -x c -o prog -]]
local WAYS = {
  counts = { rounds = 2000, unit = 1, build = "cc -O1 -g -o prog prog.c", events = "valgrind::instructions" },
  times = { rounds = 4000000, unit = 2, events = "duration_time", budget = "4min", build = SHUFFLED },
}
WAYS.kills = WAYS.counts
local way = WAYS[kind] or error("counts, times or kills, not " .. kind)

local HEAD = [[
volatile unsigned long sink;
void step(unsigned long i);

%s
__attribute__((noinline)) void step(unsigned long i)
{
    %s
}

int main(void)
{
    for (unsigned long i = 0; i < %d; i++)
        step(i);
    return 0;
}
/* %s */
]]
local LEAST_WORK = 40                   -- statements: two more are 5 % of them

local function git(folder, line)
  local ran = support.run({ "sh", "-c", "cd " .. support.quote(folder)
    .. " && git -c user.name=A -c user.email=a@localhost -c commit.gpgsign=false " .. line })
  if ran.status ~= 0 then error(ran.err) end
  return ran.out
end

-- A repository that is written commit by commit.
local function start(source)
  local self = { folder = support.folder(), work = 0, unused = 0, source = source, truth = {}, undone = {} }
  git(self.folder, "init -q -b main")
  return self
end

local function commit(self, subject)
  local functions, statements = {}, {}
  for i = 1, self.unused do
    functions[i] = ("void unused_%d(void) { for (int i = 0; i < %d; i++) sink += i; }\n")
      :format(i, i)
  end
  for i = 1, LEAST_WORK + self.work do statements[i] = ("sink = sink * 3 + i + %d;"):format(i) end
  self.count = (self.count or 0) + 1
  support.write(self.folder .. "/prog.c", HEAD:format(table.concat(functions, "\n"),
    table.concat(statements, "\n    "), way.rounds, subject .. self.count))
  git(self.folder, "add prog.c")
  git(self.folder, "commit -qm '" .. subject .. "'")
  return (git(self.folder, "rev-parse HEAD"):gsub("%s", ""))
end

local function plain(self)
  if self.source:uniform() < 0.5 then self.unused = self.unused + 1 end
  commit(self, "change")
end

local function plant(self)
  self.work = self.work + way.unit
  self.truth[commit(self, "plant")] = true
end

-- Work that comes and goes: finding either is right, but not asked for.
local function excursion(self)
  self.work = self.work + way.unit
  self.undone[commit(self, "mistake")] = true
  plain(self)
  self.work = self.work - way.unit
  self.undone[commit(self, "revert")] = true
end

local function merge(self, is_planted)
  git(self.folder, "checkout -q -b side")
  plain(self)
  if is_planted then plant(self) end
  plain(self)
  git(self.folder, "checkout -q main")
  support.write(self.folder .. "/other", "x")
  git(self.folder, "add other")
  git(self.folder, "commit -qm other")
  git(self.folder, "merge -q --no-ff -m merge side")
  git(self.folder, "branch -qD side")
end

local function write_history(seed)
  local self = start(random.new(seed, "history"))
  local source = self.source
  plain(self)
  local events, length = {}, 15 + source:integer(8)
  if kind ~= "times" then
    local is_planted = source:uniform() < 0.4
    if source:uniform() < 0.6 then events[source:integer(length)] = excursion end
    if source:uniform() < 0.5 then
      events[source:integer(length)] = function(one) merge(one, is_planted) end
    end
    if source:uniform() < 0.5 then events[source:integer(length)] = plant end
  end
  events[source:integer(length)] = plant
  for i = 1, length do (events[i] or plain)(self) end
  plain(self)
  return self
end

local function search(self, all)
  local good = git(self.folder, "rev-list --max-parents=0 HEAD"):gsub("%s", "")
  return pmc.bisect { folder = self.folder, good = good, bad = "HEAD", build = way.build, workload = "./prog",
    events = way.events, all = all, budget = way.budget, why = false, store = false, quiet = true }
end

-- "right", "none" or "range" (nothing wrong is said), or "wrong", of a search for every step.
local function judged(self, found)
  local seen, is_false = {}, false
  for _, step in ipairs(found.steps) do
    local can_be = lists.any(step.commits, function(one)
      return self.truth[one.hash] or self.undone[one.hash]
    end)
    is_false = is_false or not can_be
    if #step.commits == 1 then seen[step.to.hash] = true end
  end
  if is_false then return "wrong" end
  local lacks = lists.any(lists.keys(self.truth), function(hash) return not seen[hash] end)
  if not lacks then return "right" end
  return #found.steps == 0 and "none" or kind == "counts" and "wrong" or "range"
end

local function played(seed)
  local own = write_history(seed)
  local answer, said = support.with_env({ XDG_CACHE_HOME = own.folder .. "/cache" }, function()
    local found = search(own, kind == "counts")
    local said, one = judged(own, found), kind == "counts" and search(own) or found
    local lasts = #one.steps == 1 and own.truth[one.steps[1].to.hash]
    if kind == "counts" and not lasts then said = "wrong" end
    return said, tostring(found) .. tostring(one)
  end)
  require("pmclua.core").remove_folder(own.folder)
  io.stderr:write(("%d: %s\n"):format(seed, answer), answer ~= "right" and said or "")
  return answer
end

-- ---- kills ---------------------------------------------------------------------------------------------

local MOST_S = 1.5                      -- of a search that is killed

-- One go at a search in a process of its own, whose builds are logged: its answer; nil: it was killed.
local function go(self, cache, seconds)
  local file = cache .. "/search.jsonl"
  local good = git(self.folder, "rev-list --max-parents=0 HEAD"):gsub("%s", "")
  local words = { "env", "XDG_CACHE_HOME=" .. cache, "timeout", "--foreground", "-s", "KILL",
    ("%.3f"):format(seconds), support.program, "bisect", "-q", "--all", "--simulate", "--no-why", "--format",
    "json", "--good", good, "--build", ("%s && basename $PWD >>%s/built"):format(way.build, cache),
    support.exists(file) and "--resume" or "--store", file, "--", "./prog" }
  local ran = support.run(words, { folder = self.folder, limit_s = 600 })
  if ran.status == 137 then return nil end
  if ran.status ~= 0 then error(ran.err) end
  return table.concat(lists.map(require("dkjson").decode(ran.out).steps, function(step)
    return ("%s %s %d"):format(step.from.hash, step.commits[#step.commits].hash, step.after)
  end), "\n")
end

-- The builds of which a note says that they are complete.
local function complete(cache)
  local notes = support.output_of("find " .. support.quote(cache) .. " -name '*.note'")
  return lists.set(lists.collect(notes:gmatch "(%x+)%.note"))
end

local function built(cache)
  local log = cache .. "/built"
  return support.exists(log) and support.lines_of(log) or {}
end

-- Kills searches of one history, up to `most` times: how often it was killed, and what is wrong with that.
local function kill_searches(seed, most)
  local own, kills, source = write_history(seed), 0, random.new(seed, "kills")
  local whole, cache = own.folder .. "/whole", own.folder .. "/killed"
  for _, place in ipairs { whole, cache } do require("lfs").mkdir(place) end
  local wanted, wrong, answer = go(own, whole, 600), {}
  repeat
    local known, before = complete(cache), #built(cache)
    answer = go(own, cache, kills < most and MOST_S * source:uniform() or 600)
    for i, name in ipairs(built(cache)) do
      if i > before and known[name] then wrong[#wrong + 1] = "built again: " .. name end
    end
    kills = kills + (answer and 0 or 1)
  until answer
  if answer ~= wanted then wrong[#wrong + 1] = ("answer\n%s\ninstead of\n%s"):format(answer, wanted) end
  require("pmclua.core").remove_folder(own.folder)
  return kills, wrong
end

if kind == "kills" then
  local kills, seed, began, failed = 0, first, os.time(), 0
  while kills < histories do
    local more, wrong = kill_searches(seed, histories - kills)
    io.stderr:write(("%d: %d kills\n"):format(seed, more), table.concat(wrong, "\n"))
    kills, seed, failed = kills + more, seed + 1, failed + #wrong
  end
  print(("kills: %d in %d histories from %d: wrong %d; %d s"):format(kills, seed - first, first, failed,
    os.time() - began))
  os.exit(failed > 0 and 1 or 0)
end

local cpu = os.getenv "CPU"
if cpu then
  local ran = support.run { "taskset", "-cp", cpu, ("%d"):format(require("pmclua.core").pid()) }
  if ran.status ~= 0 then error(ran.err) end
end
local counts, began = {}, os.time()
for seed = first, first + histories - 1 do
  local answer = played(seed)
  counts[answer] = (counts[answer] or 0) + 1
end
print(("%s: %d histories from %d: named %d, range %d, not named %d, wrong %d; %d s"):format(kind, histories,
  first, counts.right or 0, counts.range or 0, counts.none or 0, counts.wrong or 0, os.time() - began))
os.exit((counts.wrong or kind == "counts" and counts.none) and 1 or 0)
