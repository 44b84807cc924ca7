-- sharing.lua: does `pmclua where --data` tell how threads share cache lines, in programs of which it is known?
--
-- usage: ./pmclua tests/truths/sharing.lua [CASE…]
-- false: a line of each thread's own bytes, one of them written. true: the same bytes, written. none: nothing that is
-- written is shared: no line is false, latent or true. turns: handed over. What threads do while they run at the same
-- time is judged: on a busy machine more is not told. Exit 1 where more than 1 in 20 of what was told are wrong, or
-- anything of "none" is false.

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
local NOTABLE = 0.01

-- The kinds of the lines that have a hundredth of the total, as a set, and what is said of the largest.
local function kinds_of(path, case, threads)
  local found = pmc.where(pmc.command { path, case, tostring(threads) }, { data = true, heap = true })
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

os.exit(program.run(function(folder)
  local program_of = builder(folder)
  local counts, tried, slander = { right = 0, wrong = 0, ["not told"] = 0 }, 0, 0
  for _, case in ipairs(CASES) do
    local wanted, name = case[1], case[2]
    local is_asked = #arg == 0 or lists.contains(arg, name)
    local path = is_asked and program_of(name:match "^(rust)_" or name:match "^(go)_" or "cpp")
    for i = 3, path and #case or 0 do
      local kinds, most, objects = kinds_of(path, name, case[i])
      local answer = answer_of(kinds, wanted)
      tried, counts[answer] = tried + 1, counts[answer] + 1
      if wanted == "none" and kinds["false"] then slander = slander + 1 end
      print(("%-16s %d threads  %-6s %-12s %s%s"):format(name, case[i], wanted, most, objects,
        answer == "right" and "" or ("   %s: %s"):format(answer, table.concat(lists.keys(kinds), ", "))))
    end
  end
  print(("%d of %d right, %d not told, %d wrong; %d of what is not shared called false"):format(counts.right,
    tried, counts["not told"], counts.wrong, slander))
  return (counts.wrong > 0.05 * (counts.right + counts.wrong) or slander > 0) and 1 or 0
end))
