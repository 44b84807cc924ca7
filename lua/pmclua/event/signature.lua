--- signature.lua: C++ functions by name and parameters, as people write them and not as the demangler does.
--
--     signature.match(symbols, "Parser::parse(const char *, int)")     json::Parser::parse(char const*, int)
--
-- Invariant: a name without parameters, and one spelt as the demangler spells it, are matched by the core
-- alone; only what it does not know is compared here, parameter by parameter.

local M = {}

local STRING = "std::string"
local STRING_SPELT_OUT = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"

local canonical_list

local function plain_gsub(s, what, by) return (s:gsub(what:gsub("%p", "%%%0"), (by:gsub("%%", "%%%%")))) end

-- One type: "const T &" and "T const&" are both "T const&".
local function canonical_type(s, brackets)
  local base, rest = s:match "^([^*&]*)(.*)$"
  local bare, consts = (" " .. base .. " "):gsub("%f[%w_]const%f[^%w_]", " ")
  local volatiles
  bare, volatiles = bare:gsub("%f[%w_]volatile%f[^%w_]", " ")
  bare = bare:gsub("^%s+", ""):gsub("%s+$", ""):gsub("%s+", " ")
  local spelt = bare .. (consts > 0 and " const" or "") .. (volatiles > 0 and " volatile" or "")
    .. rest:gsub("%s+", "")
  return (spelt:gsub("%s*\1(%d+)\1", function(number)
    local bracket = brackets[tonumber(number)]
    return bracket:sub(1, 1) .. canonical_list(bracket:sub(2, -2)) .. bracket:sub(-1)
  end))
end

-- The types between brackets, separated by commas.
function canonical_list(s)
  local brackets, list = {}, {}
  local function put_away(bracket)
    brackets[#brackets + 1] = bracket
    return ("\1%d\1"):format(#brackets)
  end
  s = s:gsub("%b<>", put_away):gsub("%b()", put_away)
  for item in (s .. ","):gmatch "([^,]*)," do list[#list + 1] = canonical_type(item, brackets) end
  return table.concat(list, ",")
end

-- A spelling as its name with what stands before it, its parameters, and "const" or "&" after them; nil: it
-- has none.
local function split(spelling)
  spelling = plain_gsub(spelling, STRING_SPELT_OUT, STRING):gsub(" %[clone [^%]]*%]", "")
  local head, parameters, qualifiers = spelling:match "^(.+)(%b())([%s%a&]*)$"
  if not head or head:find "operator$" then return nil end
  return head, canonical_list(parameters:sub(2, -2)), (qualifiers:gsub("%s+", ""))
end

-- "int ns::twice<unsigned int>" without its type.
local function without_type(head)
  if head:find "%f[%w_]operator%f[^%w_]" then return head end
  local shape = head:gsub("%b<>", function(arguments) return ("x"):rep(#arguments) end)
  return head:sub((shape:match ".* ()" or 1))
end

--- The name alone: without parameters and the type that stands before it.
---@param spelling string
---@return string
function M.name(spelling)
  local head = split(spelling)
  return head and without_type(head) or spelling
end

--- The functions that a name, with parameters or without, means; none: {}.
---@generic T: { shown: string }
---@param symbols { match: fun(self: table, spelling: string): T[] } pmclua.core.Symbols, or what is looked up as in these
---@param spelling string
---@return T[]
function M.match(symbols, spelling)
  local matches = symbols:match(spelling)
  local head, parameters, qualifiers = split(spelling)
  if #matches > 0 or not head then return matches end
  for _, symbol in ipairs(symbols:match(without_type(head))) do
    local _, its, its_qualifiers = split(symbol.shown)
    local is_meant = its == parameters and (qualifiers == "" or qualifiers == its_qualifiers)
    matches[#matches + 1] = is_meant and symbol or nil
  end
  return matches
end

return M
