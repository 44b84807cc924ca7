--- unknown.lua: explains a word that no source knows, with the likely right one.
--
-- Invariant: only here, after a spec has failed, are all existing names read.

local cache = require "pmclua.event.cache"
local lists = require "pmclua.base.lists"
local modifier = require "pmclua.event.modifier"
local names = require "pmclua.event.names"
local packages = require "pmclua.base.packages"
local pfm = require "pmclua.base.lazy".module "pmclua.event.pfm"
local problem = require "pmclua.event.problem"
local simulated = require "pmclua.event.simulated"
local text = require "pmclua.base.text"
local tool = require "pmclua.event.tool"
local tracepoint = require "pmclua.base.lazy".module "pmclua.event.tracepoint"

local M = {}

local NO_LIBPFM4 = "libpfm4, which knows vendors' event names, is not installed: "
  .. packages.install "libpfm4"

-- ---- PMUs ------------------------------------------------------------------------------------------------

-- How events of the OS kernel's own PMUs are written.
local FORMS = {
  uprobe = "uprobe:BINARY:FUNCTION", kprobe = "kprobe:FUNCTION", breakpoint = "mem:ADDRESS",
  tracepoint = "SYSTEM:NAME",
}

-- Blames a mere beginning of an event: a PMU without terms, a system of tracepoints, "mem".
local function blame_beginning(item, tree, options)
  local head, second = item.words[1], item.words[2]
  local word = head.text
  if word:find "[*?%[]" then return end
  local pmu = tree:resolve(word)[1]
  if pmu then
    local form = FORMS[pmu.name] or ("%s/%s/"):format(pmu.name, pmu:alias_names()[1] or "TERM=VALUE")
    problem.at(head, "'%s' is a PMU; its events are written as %s", word, form)
  end
  if word == "mem" then problem.at(head, "a breakpoint is written as mem:ADDRESS/LENGTH:rwx") end
  if (not second or second.text == "") and select(2, tracepoint.has_system(word, options)) then
    local form = "'%s' is a system of tracepoints, which are written as %s:NAME, all of them as %s:*"
    problem.at(head, form, word, word, word)
  end
end

--- Raises where no PMU can be seen, so that none may be said to be missing.
---@param tree pmclua.event.Tree
---@param position integer of what names a PMU
---@param length integer
function M.check_sight(tree, position, length)
  local folder = tree.root .. "/bus/event_source"
  if require("pmclua.core").stat(folder) then return end
  problem.raise(position, length, "no PMU can be seen here: there is no %s%s", folder,
    tree.root == "/sys" and "; mount -t sysfs sysfs /sys" or "")
end

--- Raises that there is no such PMU.
---@param head pmclua.event.Token
---@param tree pmclua.event.Tree
function M.pmu(head, tree)
  local name = head.text
  M.check_sight(tree, head.position, #name)
  if FORMS[name] then problem.at(head, "this Linux has no %s PMU", name) end
  local is_cores = name:find "^cpu" or name:find "^armv%d"
  if is_cores and #tree:core_pmus() == 0 then
    problem.hinted(head, "`pmclua doctor` says why", "no PMU of a CPU can be seen here")
  end
  local near = text.nearest(name, tree:names())
  problem.hinted(head, near or "there are " .. text.list(tree:names()), "there is no PMU '%s' here", name)
end

-- ---- libpfm4 ---------------------------------------------------------------------------------------------

-- "skl::EVENT" of a PMU that libpfm4 does not know or that is not here, or an event that it has not.
local function blame_pfm(item)
  if item.words[1].text == "valgrind" then
    problem.at(item.words[1], "Valgrind's events are written as valgrind::NAME: `pmclua events valgrind`")
  end
  if item.words[1].text == "syscalls" then
    problem.at(item.words[1], "system calls are written as syscalls::NAME: `pmclua events syscalls`")
  end
  local head = item.words[1]
  if not (item.words[3] and item.words[2].text == "") then return end
  local known, all = pfm.pmu(head.text)
  if #all == 0 then problem.at(head, NO_LIBPFM4) end
  if pfm.is_perf(head.text:lower()) then
    problem.at(head, "the events that libpfm4 lists under '%s' have perf's own names: use those", head.text)
  elseif not known then
    problem.unknown(head, all, "libpfm4 knows no PMU '%s'", head.text)
  elseif not known.present then
    problem.at(head, "libpfm4's PMU %s (%s) is not in this machine", known.name, known.description)
  end
  problem.unknown(item.words[3], pfm.event_names(known), "libpfm4's PMU %s has no event '%s'", known.name,
    item.words[3].text)
end

-- ---- events ----------------------------------------------------------------------------------------------

-- Events that tables name for a PMU that this machine lacks.
local function blame_absent_pmu(head, tree)
  local record = head.text:find "[._]" and require("pmclua.vendor").tables(tree.root):events(head.text)[1]
  if not record or not record.pmu then return end
  problem.at(head, "the event '%s' is of the PMU %s, which is not here", head.text, record.pmu)
end

-- The name of an event that is there, with letters behind it that are no modifiers.
local function blame_modifiers(item, tree)
  local head, second = item.words[1], item.words[2]
  if not second or second.text == "" then return end
  local named = tree:with_alias(head.text)
  if #named == 0 then named = require("pmclua.event.vendor").pmus(tree, head.text) end
  if #named > 0 then modifier.check(second) end
end

local function known_words(word, tree)
  return lists.joined { names.all(), lists.column(tool.events, 1), lists.column(cache.all(), "name"),
    lists.joined(lists.map(tree:pmus(), function(pmu) return pmu:alias_names() end)),
    word:find "[%u._]" and require("pmclua.vendor").tables(tree.root):event_names() or {},
    word:find "%u" and pfm.present_names() or {} }
end

-- Other spellings of what there is: those of linux/perf_event.h, of raw codes as terms, of caches.
local function respelt(word)
  local constant = word:match "^PERF_COUNT_[HS]W_(.*)$"
  if constant then return text.nearest(constant, names.all()) end
  local code = word:match "^r0x(%x+)$"
  if code then return "r" .. code end
  return cache.respelt(word) or lists.contains(simulated.names(), word) and simulated.spec(word) or nil
end

-- Why tables may lack a name: what is wrong with the user's own, or where perf's list was cut.
local function unread_tables(word, tree)
  local vendor = require "pmclua.vendor"
  local tables = (vendor.are_asked() or word:find "[%u._]") and vendor.tables(tree.root)
  local problems = tables and (vendor.are_asked() or tables.is_cut) and tables.problems or {}
  if #problems == 0 then return nil end
  return ("%s%s"):format(text.safe(problems[1]),
    #problems > 1 and ", and " .. text.plural(#problems - 1, "more problem") or "")
end

-- Why a name that may be right is not known here.
local function why_not_here(word, tree)
  local absent = word:find "[%u._]" and require("pmclua.vendor").tables(tree.root).absent
  if word:find "[%u.]" and #pfm.all_pmus() == 0 then
    return ("; %s%s"):format(NO_LIBPFM4, absent and "; " .. absent or "")
  end
  if absent then return "; " .. absent end
  if #tree:core_pmus() == 0 then return ", nor a CPU's PMU that could have it" end
  return ""
end

--- Raises what is wrong with words that name no event.
---@param item table of the grammar
---@param tree pmclua.event.Tree
---@param options table?
function M.event(item, tree, options)
  local head, second = item.words[1], item.words[2]
  if options and options.is_unexplained then
    problem.hinted(head, nil, "there is no event '%s' here", head.text)
  end
  blame_pfm(item)
  blame_beginning(item, tree, options)
  blame_modifiers(item, tree)
  blame_absent_pmu(item.words[1], tree)
  local hint = respelt(head.text)
  if not hint and not text.nearest(head.text, names.all()) then cache.blame(head) end
  hint = hint or text.nearest(head.text, known_words(head.text, tree))
  local looks_like_tracepoint = second and second.text ~= "" and not modifier.plausible(second.text)
  if looks_like_tracepoint and not hint then tracepoint.encode(head, second, nil, options) end
  problem.hinted(head, hint or unread_tables(head.text, tree), "there is no event '%s' here%s", head.text,
    hint and "" or why_not_here(head.text, tree))
end

return M
