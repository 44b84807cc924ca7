--- grammar.lua: the text of a spec to its parts, each with its position; nothing is looked up here.
--
--   list   = entry *("," entry)
--   entry  = group / item
--   group  = [name] "{" item *("," item) "}" [":" modifiers]
--   item   = [label "="] (words [terms] / breakpoint / probe)
--   words  = word *(":" [word])          a name and modifiers, a tracepoint, two numbers, libpfm4's
--   terms  = "/" [term *("," term)] "/" [modifiers]
--   term   = name ["=" value]
--
-- Blanks may stand between any two of these, but not inside a word. Where a part cannot be what it must be, a
-- problem is raised on the spot, so the first mistake is the one that is told.

local lpeg = require "lpeg"
local problem = require "pmclua.event.problem"
local safe = require("pmclua.base.text").safe

local P, R, S = lpeg.P, lpeg.R, lpeg.S
local C, Cb, Cc, Cg, Cmt, Cp, Ct = lpeg.C, lpeg.Cb, lpeg.Cc, lpeg.Cg, lpeg.Cmt, lpeg.Cp, lpeg.Ct

local M = {}

---@class pmclua.event.Token
---@field text string
---@field position integer byte in the spec, from 1

local at_end = -P(1)
local blank = S " \t\r\n" ^ 0
local letter, digit = R("az", "AZ"), R "09"
local alphanumeric = letter + digit

local function token(pattern)
  return Ct(Cg(Cp(), "position") * Cg(C(pattern), "text"))
end

local ONE_CHARACTER = "^[%z\1-\127\194-\244][\128-\191]*"

--- Raises a problem where it is tried: `message`, "instead of" what stands there, and advice on it.
local function fail(message, advice)
  return Cmt(P(true), function(subject, position)
    local here = subject:match(ONE_CHARACTER, position) or subject:sub(position, position)
    local seen = here == "" and "the end" or ("'%s'"):format(safe(here))
    problem.raise(position, #here, "%s %s%s", message, seen, advice and ": " .. advice or "")
  end)
end

local function expect(pattern, what)
  return pattern + fail(("expected %s instead of"):format(what))
end

--- Raises a problem at the position that the group capture `name` holds: of what was opened.
local function unclosed(name, character)
  return Cmt(Cb(name), function(_, _, opened)
    problem.raise(opened, 1, "this '%s' is not closed", character)
  end)
end

-- terms --------------------------------------------------------------------------------------------

local quote = Cg(Cp(), "quote") * "'" * Cg(Cc(true), "quoted") * Cg(C((1 - P "'") ^ 0), "text") *
  (P "'" + unclosed("quote", "'"))
local slash_unclosed = at_end * unclosed("slash", "/")

local bare_value = Cg(C((1 - S ",/'\"= \t\r\n") ^ 1), "text")
local unquoted = #S "/\"" * fail("expected a value instead of",
  "put anything but a word or a number in quotes (')")
local value = slash_unclosed + Ct(Cg(Cp(), "position") * (quote + bare_value)) + unquoted
local term_name = slash_unclosed + token((alphanumeric + S "_*?.:@-") ^ 1)
local assigned = blank * "=" * blank * expect(value, "a value")
local term = blank * Ct(Cg(expect(term_name, "a term"), "name") * Cg(assigned, "value") ^ -1) * blank
local late_modifiers = #(blank * ":" * letter) * blank *
  fail("unexpected", "modifiers come right after the second '/'")
local closing_slash = P "/" * (late_modifiers + P(true)) + slash_unclosed +
  fail("expected ',' or '/' instead of")
local terms = blank * Cg(Cp(), "slash") * "/" * Cg(Ct(blank * #P "/" + term * ("," * term) ^ 0), "terms") *
  closing_slash * (blank * Cg(token(letter ^ 1), "modifiers") + Cg(token(P(true)), "modifiers"))

-- items --------------------------------------------------------------------------------------------

local colon = blank * ":" * blank
local modifier_words = Cg(Ct((colon * token(letter ^ 0)) ^ 0), "words")
local number = token(alphanumeric ^ 1)

-- "[ef]", "[a-c]", "[!x]" in the name of a tracepoint.
local one_of = "[" * S "!^" ^ -1 * (alphanumeric + S "_-") ^ 1 * "]"
local word = alphanumeric + S "_*?.=-" + one_of
local words = Cg(Cc "words", "form") *
  Cg(Ct(token((alphanumeric + S "_*?" + one_of) * word ^ 0) * (colon * token(word ^ 0)) ^ 0), "words") *
  terms ^ -1

local breakpoint = Cg(Cc "breakpoint", "form") * "mem:" *
  Cg(expect(token((alphanumeric + S "_.$") ^ 1), "an address"), "address") *
  ("/" * Cg(expect(number, "a length in bytes"), "length")) ^ -1 *
  Cg(Ct((":" * token(letter ^ 0)) ^ 0), "words")

local function maybe_quoted(characters)
  return Ct(Cg(Cp(), "position") * (quote + Cg(C(characters ^ 1), "text")))
end

local path = Cg(expect(maybe_quoted(1 - S ",{}:' \t\r\n"), "the path of a binary"), "path") *
  expect(P ":", "':' and a function")
local location = Cg(expect(maybe_quoted(alphanumeric + S "_.$@<>~-"), "a function"), "location") *
  ("+" * Cg(expect(number, "an offset"), "offset")) ^ -1 * ("%return" * Cg(Cc "exits", "is_return")) ^ -1 *
  modifier_words

local function probe(prefix, pmu, inner)
  return prefix * Cg(Cc "probe", "form") * Cg(Cc(pmu), "pmu") * inner
end
local returning = Cg(Cc(true), "is_return")
local probes = probe(P "uprobe:", "uprobe", path * location)
  + probe(P "uretprobe:" * returning, "uprobe", path * location)
  + probe(P "kprobe:", "kprobe", location)
  + probe(P "kretprobe:" * returning, "kprobe", location)
  + probe(#(P "/" + "./" + "../"), "uprobe", path * location)

local unexpected = #P "--filter" * fail("unexpected", "a filter is written SYSTEM:NAME/filter='CONDITION'/")
  + #alphanumeric * fail("expected ',' instead of") + fail("unexpected")
local label_end = alphanumeric + "_"
local label_word = (letter + "_") * (P "-" ^ 0 * label_end) ^ 0
local label = Cg(token(label_word), "label") * blank * "=" * blank
local item = Ct(label ^ -1 * Cg(Cp(), "position") * expect(breakpoint + probes + words, "an event") *
  Cg(Cp(), "stop")) * blank * (#(S ",}" + at_end) + unexpected)

-- lists --------------------------------------------------------------------------------------------

local name = (letter + "_") * (alphanumeric + S "_.") ^ 0
local group_ahead = #(name ^ -1 * "{")
local nested = group_ahead * Cmt(Cp(), function(_, _, position)
  problem.raise(position, 1, "groups cannot be nested")
end)
local member = blank * (nested + item)
local group_modifiers = (colon * Cg(expect(token(letter ^ 1), "modifiers"), "modifiers")) ^ -1
local group = Ct(Cg(Cc "group", "form") * Cg(token(name), "name") ^ -1 * Cg(Cp(), "brace") * "{" *
  Cg(Ct(member * ("," * member) ^ 0), "members") * (P "}" + unclosed("brace", "{")) * group_modifiers *
  (#(blank * letter) * blank * fail("expected ':' and modifiers, or ',', instead of") + P(true)))
  * blank * (#(P "," + at_end) + fail("unexpected"))

local entry = blank * (group_ahead * group + item)
local list = Ct(entry * ("," * entry) ^ 0) * (at_end + fail("unexpected"))

--- The parts of a spec, in order. Raises a problem (see pmclua.event.problem).
---@param text string
---@return table[] entries
function M.parse(text)
  return list:match(text)
end

return M
