-- sharing.lua: does `pmclua where --data` tell how threads share cache lines, in programs of which it is known?
--
-- usage: ./pmclua tests/truths/sharing.lua [CASE…]
-- false: a line of each thread's own bytes, one of them written. true: the same bytes, written. none: nothing that is
-- written is shared: no line is false, latent or true. turns: handed over. What threads do while they run at the same
-- time is judged: on a busy machine more is not told. Exit 1 where more than 1 in 20 of what was told are wrong, or
-- anything of "none" is false. Layouts of known programs (real.c) are tried before and after padding, with the CPU time
-- of both, the median of five runs; right: a line is false before, and none after.

local tests = debug.getinfo(1, "S").source:sub(2):gsub("truths/[^/]*$", "")
local program = dofile(tests .. "support/program.lua")

local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local support = require "tests.support"

-- Of C++, Rust (rust_…) and Go (go_…).
local CASES = {
  { "false", "counters", 2, 4, 8 }, { "false", "bytes", 2, 4 }, { "false", "stats", 2, 4, 8 },
  { "false", "atomics", 2, 4 }, { "false", "pair_of_atomics", 2 }, { "false", "with_config", 2, 3 },
  { "false", "packed", 2, 4 }, { "false", "vector", 2, 8 }, { "false", "blocks", 3 },
  { "true", "total", 2, 4 }, { "true", "guarded", 2, 3 }, { "true", "spin", 2 }, { "true", "bits", 2, 4 },
  { "true", "pointer", 2 }, { "true", "tree", 2 }, { "true", "ring", 2 }, { "true", "latest", 2, 3 },
  { "true", "ticket", 2, 8 },
  { "none", "padded", 2, 4, 8 }, { "none", "own", 2, 4 }, { "none", "table", 2 }, { "none", "hot", 2, 4 },
  { "none", "text", 2 }, { "none", "vectors", 2, 4 }, { "none", "stack", 2 },
  { "turns", "turns", 2, 4 },
  { "false", "rust_counters", 2, 4 }, { "false", "rust_stats", 2 }, { "false", "rust_flag", 2 },
  { "true", "rust_total", 2, 4 }, { "true", "rust_mutex", 2 }, { "true", "rust_rwlock", 2 },
  { "true", "rust_arc", 2 }, { "none", "rust_padded", 2, 4 }, { "none", "rust_table", 2 },
  { "none", "rust_own", 2 },
  { "false", "go_counters", 2 }, { "false", "go_atomics", 2 }, { "false", "go_stats", 2 },
  { "false", "go_flag", 2 }, { "true", "go_total", 2 }, { "true", "go_mutex", 2 },
  { "none", "go_padded", 2, 4 }, { "none", "go_table", 2 }, { "none", "go_own", 2 },
}
local KNOWN = { "regression", "used", "clusters", "spinlocks", "queue" }
local NOTABLE, RUNS = 0.01, 5

-- The kinds of the lines that have a hundredth of the total, as a set, and what is said of the largest.
local function kinds_of(path, case, how)
  local found = pmc.where(pmc.command { path, case, tostring(how) }, { data = true, heap = true })
  local profile, kinds, most = found.profiles[1], {}, nil
  for _, line in ipairs(profile.data.sharing) do
    if line.count >= NOTABLE * profile.total then
      kinds[line.kind] = true
      most = most or line
    end
  end
  local objects = most and table.concat(lists.unique(lists.column(most.parts, "object")), ", ") or "-"
  return kinds, most and most.kind or "-", objects
end

local RIGHT = {
  ["false"] = function(kinds) return kinds["false"] and not kinds["true"] end,
  ["true"] = function(kinds) return kinds["true"] and not kinds["false"] end,
  none = function(kinds) return not (kinds["false"] or kinds["true"] or kinds.latent) end,
  turns = function(kinds) return kinds["handed over"] and not kinds["false"] and not kinds.latent end,
}

local TOLD = { "false", "true", "latent", "handed over" }

-- "right", "not told" or "wrong".
local function answer_of(kinds, wanted)
  if RIGHT[wanted](kinds) then return "right" end
  return lists.any(TOLD, function(kind) return kinds[kind] end) and "wrong" or "not told"
end

-- The program with a language's cases; nil: its compiler is not installed, which is said.
local function builder(folder)
  local sources, built = support.root .. "/tests/truths/sharing/cases.", {}
  local languages = { cpp = { "c++", "-O2", "-g", "-pthread", "-o", folder .. "/cpp", sources .. "cc" },
    rust = { "rustc", "-O", "-g", "-o", folder .. "/rust", sources .. "rs" },
    real = { "cc", "-O1", "-g", "-pthread", "-o", folder .. "/real",
      support.root .. "/tests/truths/sharing/real.c" },
    go = { "go", "build", "-o", folder .. "/go", sources .. "go" } }
  return function(language)
    if built[language] == nil then
      local words = languages[language]
      built[language] = support.have(words[1]) or false
      if not built[language] then print(("no %s: its cases are left out"):format(words[1]))
      else assert(support.run(words, { env = { GOCACHE = folder } }).status == 0, words[1]) end
    end
    return built[language] and folder .. "/" .. language
  end
end

-- Seconds of CPU time before and after padding, of runs in turn.
local function times_of(path, name)
  local times = { apart = {}, padded = {} }
  for _ = 1, RUNS do
    for how, list in pairs(times) do list[#list + 1] = tonumber(support.run({ path, name, how }).out) end
  end
  return pmc.stats.median(times.apart), pmc.stats.median(times.padded)
end

local function try_known(path, name)
  local before, _, objects = kinds_of(path, name, "apart")
  local after = kinds_of(path, name, "padded")
  local answer = after["false"] and "wrong" or before["false"] and "right" or "not told"
  local seconds, padded = times_of(path, name)
  local function named(kinds) return table.concat(lists.keys(kinds), ", ") end
  print(("%-16s %s (%s); padded: %s; %.2f s, %.2f s   %s"):format(name, named(before), objects, named(after),
    seconds, padded, answer))
  return answer
end

local function try_case(path, wanted, name, threads)
  local kinds, most, objects = kinds_of(path, name, threads)
  local answer = answer_of(kinds, wanted)
  print(("%-16s %d threads  %-6s %-12s %s%s"):format(name, threads, wanted, most, objects,
    answer == "right" and "" or ("   %s: %s"):format(answer, table.concat(lists.keys(kinds), ", "))))
  return answer, wanted == "none" and kinds["false"]
end

os.exit(program.run(function(folder)
  local program_of = builder(folder)
  local counts, tried, slander = { right = 0, wrong = 0, ["not told"] = 0 }, 0, 0
  local function count(answer, is_slander)
    tried, counts[answer], slander = tried + 1, counts[answer] + 1, slander + (is_slander and 1 or 0)
  end
  local function is_asked(name) return #arg == 0 or lists.contains(arg, name) end
  for _, case in ipairs(CASES) do
    local wanted, name = case[1], case[2]
    local path = is_asked(name) and program_of(name:match "^(rust)_" or name:match "^(go)_" or "cpp")
    for i = 3, path and #case or 0 do count(try_case(path, wanted, name, case[i])) end
  end
  for _, name in ipairs(KNOWN) do
    local path = is_asked(name) and program_of "real"
    if path then count(try_known(path, name)) end
  end
  print(("%d of %d right, %d not told, %d wrong; %d of what is not shared called false"):format(counts.right,
    tried, counts["not told"], counts.wrong, slander))
  return (counts.wrong > 0.05 * (counts.right + counts.wrong) or slander > 0) and 1 or 0
end))
