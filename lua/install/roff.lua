--- roff.lua: text as man(7) pages have it. Everything is ASCII: what is not is written by its code point.

local M = {}

local function code_point(char)
  local a, b, c, d = char:byte(1, 4)
  local code = d and ((a % 8 * 64 + b % 64) * 64 + c % 64) * 64 + d % 64
    or c and (a % 16 * 64 + b % 64) * 64 + c % 64 or a % 32 * 64 + b % 64
  return ("\\[u%04X]"):format(code)
end

local SPECIAL = { ["\\"] = "\\e", ["-"] = "\\-", ["'"] = "\\(aq", ["^"] = "\\(ha", ["~"] = "\\(ti",
  ["`"] = "\\(ga" }

--- Escaped, to stand anywhere in a line.
---@param text string
function M.escape(text)
  text = text:gsub("[\\%-'^~`]", SPECIAL)
  return (text:gsub("[\194-\244][\128-\191]+", code_point))
end

local function guarded(line) return (line:gsub("^%.", "\\&.")) end

local WIDTH = 76      -- of input lines; where they end says nothing

--- Running text, filled: `words in back-quotes` are bold.
---@param text string
function M.text(text)
  local parts, from = {}, 1
  for before, code, after in text:gmatch "()`([^`\n]+)`()" do
    parts[#parts + 1] = M.escape(text:sub(from, before - 1)) .. M.bold(code)
    from = after
  end
  parts[#parts + 1] = M.escape(text:sub(from))
  local lines = require("pmclua.base.text").wrap(table.concat(parts), WIDTH)
  for i, line in ipairs(lines) do lines[i] = guarded(line) end
  return table.concat(lines, "\n")
end

---@param text string
function M.bold(text) return "\\fB" .. M.escape(text) .. "\\fR" end

---@param text string
function M.italic(text) return "\\fI" .. M.escape(text) .. "\\fR" end

--- Text filled to paragraphs; empty lines part them.
---@param text string
function M.paragraphs(text)
  local list = {}
  for paragraph in (text:gsub("\n%s*\n", "\0") .. "\0"):gmatch "(%Z+)%z" do
    list[#list + 1] = M.text((paragraph:gsub("%s*\n%s*", " ")))
  end
  return table.concat(list, "\n.PP\n")
end

--- Lines as they are, indented.
---@param text string
function M.verbatim(text)
  local lines = {}
  for _, line in ipairs(require("pmclua.base.text").lines(text)) do
    if line ~= "" or #lines > 0 then lines[#lines + 1] = guarded(M.escape((line:gsub("^  ", "")))) end
  end
  return (".in +4n\n.EX\n%s\n.EE\n.in"):format(table.concat(lines, "\n"))
end

--- A tagged paragraph.
---@param tag string roff already
---@param text string plain
function M.item(tag, text) return (".TP\n%s\n%s"):format(tag, M.text(text)) end

--- Ways of calling something, a line each.
---@param lines string[]
function M.synopsis(lines)
  return table.concat(require("pmclua.base.lists").map(lines, M.escape), "\n.br\n")
end

--- A command, as a reference to its page.
---@param page string
function M.page(page) return M.bold(page) .. "(1)" end

---@param pages string[]
function M.see_also(pages)
  return table.concat(require("pmclua.base.lists").map(pages, function(page)
    return (".BR %s (1)"):format(M.escape(page))
  end), " ,\n")
end

---@param name string
function M.section(name) return ".SH " .. name:upper() end

local function date()
  return os.date("!%Y-%m-%d", tonumber(os.getenv "SOURCE_DATE_EPOCH" or os.time()))
end

--- The head of a page. No hyphenation and no justification: most of the words are meant to be typed.
---@param page string
---@param summary string
function M.title(page, summary)
  local heading = (".TH %s 1 %s \"pmclua %s\" \"pmclua manual\"\n.nh\n.ad l"):format(page:upper(), date(),
    require("pmclua.core").version)
  return ("%s\n%s\n%s \\- %s"):format(heading, M.section "Name", M.escape(page), M.escape(summary))
end

return M
