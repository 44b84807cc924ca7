--- modifier.lua: the letters after an event or a group, "ukhGHIpPDSWeb".
--
-- u k h   count only user space, the OS kernel, the hypervisor: all those named
-- G H     count only in guests, only on the host
-- I       not while idle          p pp ppp  precision of the sampled address (P: the best there is)
-- D       pinned                  e  exclusive: alone on the PMU
-- W       weak: a group that does not fit may be split    S  read the group at each sample
-- b       perf's counting by BPF: the count is the same, so here it changes nothing

local problem = require "pmclua.event.problem"

local M = {}

M.letters = "ukhGHIpPDSWeb"

local flags = { P = "precise_max", S = "sample_read", b = "bpf" }

--- Whether `text` could be modifiers, by its letters alone.
---@param text string
---@return boolean
function M.plausible(text)
  return text:find("[^" .. M.letters .. "]") == nil
end

--- Checks the letters. Raises a problem on an unknown letter, and on one that stands twice.
---@param token pmclua.event.Token
function M.check(token)
  local seen = {}
  for i = 1, #token.text do
    local letter = token.text:sub(i, i)
    local position = token.position + i - 1
    if not M.letters:find(letter, 1, true) then
      problem.raise(position, 1, "'%s' is not a modifier; modifiers are %s", letter, M.letters)
    end
    seen[letter] = (seen[letter] or 0) + 1
    if seen[letter] > (letter == "p" and 3 or 1) then
      problem.raise(position, 1, letter == "p" and "p may be given at most three times"
        or "the modifier '%s' is given twice", letter)
    end
  end
end

-- The first letter of a set excludes all of the set; each then takes its own back. A group's letters add to
-- what the event's own have left excluded: "{a:k}:u" is "a:uk".
local sets = {
  u = "levels", k = "levels", h = "levels", G = "machines", H = "machines",
  levels = { "exclude_user", "exclude_kernel", "exclude_hv" },
  machines = { "exclude_host", "exclude_guest" },
}
local includes = {
  u = "exclude_user", k = "exclude_kernel", h = "exclude_hv", G = "exclude_guest", H = "exclude_host",
}

local function include(event, letter)
  local set, attr = sets[letter], event.attr
  if not event.state[set] then
    event.state[set] = true
    for _, field in ipairs(sets[set]) do attr[field] = 1 end
  end
  attr[includes[letter]] = nil
end

local function more_precise(attr, position)
  attr.precise_ip = (attr.precise_ip or 0) + 1
  if attr.precise_ip > 3 then
    problem.raise(position, 1, "p may be given at most three times, the group's included")
  end
end

--- Applies modifiers to an event that may have some already (its own come before its group's).
---@param event table attr and flags are changed; `event.state` remembers which sets have been chosen from
---@param token pmclua.event.Token checked here
---@param is_leader boolean whether D, e and W, which are the leader's, apply
function M.apply(event, token, is_leader)
  M.check(token)
  local attr = event.attr
  event.state = event.state or {}
  event.state.levels = attr.exclude_user or attr.exclude_kernel or attr.exclude_hv
  for i = 1, #token.text do
    local letter = token.text:sub(i, i)
    if includes[letter] then
      include(event, letter)
    elseif letter == "I" then
      attr.exclude_idle = 1
    elseif letter == "p" then
      more_precise(attr, token.position + i - 1)
    elseif flags[letter] then
      event[flags[letter]] = true
    elseif is_leader then
      if letter == "D" then attr.pinned = 1 end
      if letter == "e" then attr.exclusive = 1 end
      if letter == "W" then event.weak = true end
    end
  end
end

--- The modifiers that an event has, as text: the reverse of apply.
---@param event table
---@return string
function M.format(event)
  local attr, text = event.attr, {}
  local function add(condition, letters)
    if condition then text[#text + 1] = letters end
  end
  local limited = attr.exclude_user or attr.exclude_kernel or attr.exclude_hv
  add(limited and not attr.exclude_user, "u")
  add(limited and not attr.exclude_kernel, "k")
  add(limited and not attr.exclude_hv, "h")
  add(attr.exclude_host, "G")
  add(attr.exclude_guest, "H")
  add(attr.exclude_idle, "I")
  add(attr.precise_ip, ("p"):rep(attr.precise_ip or 0))
  add(event.precise_max, "P")
  add(event.sample_read, "S")
  add(attr.pinned, "D")
  add(event.weak, "W")
  add(attr.exclusive, "e")
  add(event.bpf, "b")
  return table.concat(text)
end

return M
