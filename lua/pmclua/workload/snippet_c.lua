--- snippet_c.lua: keeps the compiler from removing the work of a C snippet; describes its machine code.
--
-- A compiler deletes unused values and folds constants. So after each copy an empty assembly statement claims to
-- change every variable of the snippet, in the register that holds it, which costs no instruction. A hundred
-- copies of `x += y` are then a hundred dependent additions.
--
-- The compiler itself says which names are variables and of which kind: each question is a line of C that compiles
-- if the answer is yes. It knows scopes and types; a parser of ours would not.

local compile = require "pmclua.workload.compile"
local lists = require "pmclua.base.lists"

local M = {}

-- N stands for the name, or for the whole snippet where that is an expression.
local QUESTIONS = {
  { "object", "(void)sizeof(__typeof__((N)));" },
  { "value", '_Static_assert(!__builtin_types_compatible_p(__typeof__((N)), void), "");' },
  { "assignable", "(N) = (N);" },
  { "memory", '__asm__("" : "+m"(N));' },
  { "not_volatile", "_Static_assert(!__builtin_types_compatible_p(__typeof__(&(N)),"
    .. ' volatile __typeof__(N) *), "");' },
  { "not_atomic", "_Static_assert(!__builtin_types_compatible_p(__typeof__(&(N)),"
    .. ' _Atomic __typeof__(N) *), "");' },
  { "floating", "_Static_assert(__builtin_types_compatible_p(__typeof__(N), float)"
    .. ' || __builtin_types_compatible_p(__typeof__(N), double), "");' },
  { "word", '{ (void)!(N); _Static_assert(sizeof(N) <= sizeof(void *), "");'
    .. ' _Static_assert(!__builtin_types_compatible_p(__typeof__(N), float _Complex), ""); }' },
  { "vector", '{ (void)(N)[0]; (void)-(N); _Static_assert(sizeof(N) <= PMCLUA_VECTOR, ""); }' },
}

local HEAD = [[
#include <stdint.h>
#include <string.h>
#include <math.h>
#include <pmclua_kernel.h>
]]

-- The widest vector that fits into a register, and what the constraint of such a register is.
local REGISTERS = [[
#if defined __AVX512F__
#define PMCLUA_VECTOR 64
#elif defined __AVX__
#define PMCLUA_VECTOR 32
#else
#define PMCLUA_VECTOR 16
#endif
#define register
]]
local VECTOR_REGISTER = ({ x64 = "x", arm64 = "w" })[jit.arch] or "m"

-- ---- which names there are -----------------------------------------------------------------------------

local KEYWORDS = lists.words [[auto break case char const continue default do double else enum extern float
  for goto if inline int long register restrict return short signed sizeof static struct switch typedef
  union unsigned void volatile while typeof asm]]

-- Code without its texts, characters and comments.
local function bare(code)
  return (code:gsub("//[^\n]*", " "):gsub("/%*.-%*/", " "):gsub('\\.', ""):gsub('"[^"\n]*"', '""')
    :gsub("'[^'\n]*'", "0"))
end

-- Every word of the code that may be a variable's name, each once, in order.
local function names_in(code)
  local names = {}
  for name in bare(code):gmatch "%f[%w_][%a_][%w_]*" do
    if not (KEYWORDS[name] or name:find "^__") then names[#names + 1] = name end
  end
  return lists.unique(names)
end

local function changes_anything(code)
  local plain = bare(code)
  return lists.any({ "[^=!<>]=[^=]", "<<=", ">>=", "%+%+", "%-%-" }, function(sign)
    return plain:find(sign)
  end)
end

--- Whether there is any code in a text.
---@param code string
function M.is_blank(code) return not bare(code):find "[^%s;]" end

-- The snippet where it may be an expression that changes nothing, so that its value alone keeps it; nil where not.
local function expression_of(body)
  local code = bare(body):gsub("[;%s]+$", "")
  if not code:find "%S" or code:find "[;{}#]" or changes_anything(code) then return nil end
  return (code:gsub("%s+", " "))
end

-- ---- asking ----------------------------------------------------------------------------------------------

local function questions(lines, scope, number, name)
  for _, question in ipairs(QUESTIONS) do
    lines[#lines + 1] = ('#line 1 "%s:%d:%s"'):format(scope, number, question[1])
    lines[#lines + 1] = question[2]:gsub("%f[%w_]N%f[^%w_]", (name:gsub("%%", "%%%%")))
  end
end

-- Outside: at the top of a file; before: where the snippet stands; after: in its own scope, behind it.
local function probe(init, body, names, expression)
  local lines = { HEAD, REGISTERS, "void pmclua_outside(void)\n{" }
  for i, name in ipairs(names) do questions(lines, "outside", i, name) end
  lines[#lines + 1] = "}\nvoid snippet(void *state, uint64_t iterations)\n{\n(void)state; (void)iterations;"
  lines[#lines + 1] = '#line 1 "init"\n' .. init .. "\n;"
  for i, name in ipairs(names) do questions(lines, "before", i, name) end
  if expression then questions(lines, "before", 0, expression) end
  lines[#lines + 1] = '{\n#line 1 "snippet"\n' .. body .. "\n;"
  for i, name in ipairs(names) do questions(lines, "after", i, name) end
  lines[#lines + 1] = "}\n}\n"
  return table.concat(lines, "\n")
end

-- The constraint that keeps what was asked about; nil where nothing needs to, or can.
local function constraint_of(says)
  if not says "object" then return nil end
  if not says "assignable" then return says "memory" and "m" or nil end
  if not (says "not_volatile" and says "not_atomic") then return nil end
  if says "floating" or says "vector" then return VECTOR_REGISTER end
  return says "word" and "r" or "m"
end

local QUIET = { "-fsyntax-only", "-w", "-Wno-fatal-errors" }

-- The probe's lines that do not compile, as scope:number:question.
local function refused_lines(session, unit)
  local _, complaints = compile.ask(session, unit, QUIET)
  if complaints:find("too many errors", 1, true) then
    _, complaints = compile.ask(session, unit, { unpack(QUIET), "-ferror-limit=0" })
  end
  local refused = {}
  for line in complaints:gmatch "([%a]+:%d+:[%a_]+):%d+:%d*:? *[%a ]*error" do refused[line] = true end
  return refused
end

---@class pmclua.Kept what keeps a snippet's work
---@field before { name: string, constraint: string }[] variables that the snippet uses, where it starts
---@field after { name: string, constraint: string }[] those and its own, where it ends
---@field expression? string the snippet, where its value is all that it does
---@field value? string the constraint of that value

--- The code that keeps the compiler from dropping a snippet's work.
---@param unit table as compile.build takes it, without its text
---@param init string
---@param body string
---@return pmclua.Kept
function M.find(session, unit, init, body)
  local names, expression = names_in(body), expression_of(body)
  if #names == 0 and not expression then return { before = {}, after = {} } end
  local asked = setmetatable({ text = probe(init, body, names, expression) }, { __index = unit })
  local refused = refused_lines(session, asked)
  local function constraint(scope, number)
    return constraint_of(function(question)
      return not refused[("%s:%d:%s"):format(scope, number, question)]
    end)
  end
  local kept = { before = {}, after = {} }
  for i, name in ipairs(names) do
    -- Names of the C library, such as signgam, are left out: gcc reports each undeclared name only once.
    local outside = ("outside:%d:"):format(i)
    local is_outside = not (refused[outside .. "object"] or refused[outside .. "assignable"])
    for _, scope in ipairs { "before", "after" } do
      local accepted = not is_outside and constraint(scope, i)
      if accepted then table.insert(kept[scope], { name = name, constraint = accepted }) end
    end
  end
  local function says(question) return not refused["before:0:" .. question] end
  if expression and says "object" and says "value" then
    kept.expression = expression
    kept.value = (says "floating" or says "vector") and VECTOR_REGISTER or says "word" and "r" or "m"
  end
  return kept
end

-- ---- the generated code ----------------------------------------------------------------------------------

-- An assembler prints a comment with its own sign.
local MARK, ENDS = "# ", "pmclua: a copy ends"
local TAKEN_AT_ONCE = 6         -- variables: all are in registers together

-- Statements that take and give back the variables; the last is marked in the compiler's listing. What needs
-- none of its variables may be moved across it, so as few as possible are in others.
local function keeping(list)
  local lines, operands = { '#line 1 "kept"' }, {}
  for i, item in ipairs(list) do
    operands[#operands + 1] = ('"+%s"(%s)'):format(item.constraint, item.name)
    if #operands == TAKEN_AT_ONCE and i < #list then
      lines[#lines + 1] = ('__asm__ volatile("" : %s);'):format(table.concat(operands, ", "))
      operands = {}
    end
  end
  local all = table.concat(operands, ", ")
  lines[#lines + 1] = ('__asm__ volatile("%s%s" : %s : : "memory");'):format(MARK, ENDS, all)
  return table.concat(lines, "\n")
end

local function copy_of(body, kept)
  local code = body .. "\n;"
  if kept.value then
    code = ('__auto_type pmclua_value = (%s);\n__asm__ volatile("" : : "%s"(pmclua_value));')
      :format(kept.expression, kept.value)
  end
  return ('do {\n#line 1 "snippet"\n%s\n%s\n} while (0);\n'):format(code, keeping(kept.after))
end

--- The C of a kernel `snippet` that has the snippet `unroll` times in its loop.
---@param init string
---@param body string
---@param unroll integer
---@param kept pmclua.Kept
---@return string
function M.code(init, body, unroll, kept)
  return table.concat { HEAD, "void snippet(void *state, uint64_t iterations)\n{\n    (void)state;\n",
    '#line 1 "init"\n', init, "\n;\n    while (iterations--) {\n", keeping(kept.before), "\n",
    copy_of(body, kept):rep(unroll), "    }\n}\n" }
end

-- ---- what the compiler made of it --------------------------------------------------------------------------

-- An instruction of a listing, without its comment; nil: the line has none.
local function instruction(line)
  local code = line:match "^%s+(%a.-)%s*$"
  return code and (code:gsub("%s+##? .*$", ""):gsub("%s*//.*$", ""):gsub("%s+", " "))
end

---@class pmclua.Copies what a listing shows of a snippet
---@field unroll? integer how often the snippet stands in the source of its loop
---@field copies? integer those that have instructions; nil: the listing does not show it
---@field least? integer instructions of a copy
---@field most? integer
---@field text? string the instructions of one copy, from the middle of the loop
---@field empty? boolean the snippet itself has no code

--- The copies of a snippet in the compiler's listing. With link-time optimisation it shows none.
---@param listing string
---@return pmclua.Copies
function M.copies(listing)
  local copies, current
  for line in listing:gmatch "[^\n]+" do
    if line:find(ENDS, 1, true) then
      if copies and current then copies[#copies + 1] = current end
      copies, current = copies or {}, {}
    elseif current and not line:find "^%s*#" then
      current[#current + 1] = instruction(line)
    end
  end
  if not copies or #copies == 0 then return {} end
  local facts = { copies = 0, least = math.huge, most = 0 }
  for _, copy in ipairs(copies) do
    facts.copies = facts.copies + (#copy > 0 and 1 or 0)
    facts.least, facts.most = math.min(facts.least, #copy), math.max(facts.most, #copy)
  end
  facts.text = table.concat(copies[math.ceil(#copies / 2)], "; ")
  return facts
end

--- The copies of a snippet in what the compiler makes of a unit; kept beside its object.
---@param unit table as compile.build takes it
---@param object string what was built of it
---@return pmclua.Copies
function M.machine_code(session, unit, object)
  return M.copies(compile.beside(object, "s", function()
    return (compile.ask(session, unit, { "-S" }))
  end))
end

return M
