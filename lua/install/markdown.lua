--- markdown.lua: text as the book's pages have it. The same functions as roff.lua has for manual pages.

local M = {}

--- Escaped, to stand anywhere in a paragraph.
---@param text string
function M.escape(text) return (text:gsub("[\\*_<>%[%]#~|`]", "\\%0")) end

---@param text string
function M.bold(text) return "**" .. M.escape(text) .. "**" end

---@param text string
function M.italic(text) return "*" .. M.escape(text) .. "*" end

--- Running text; `words in back-quotes` are code already.
---@param text string
function M.text(text)
  return ((text .. "``"):gsub("([^`]*)(`[^`]*`)", function(plain, code)
    return M.escape(plain) .. code
  end):gsub("``$", ""))
end

---@param text string
M.paragraphs = M.text

--- Lines as they are.
---@param text string
function M.verbatim(text) return "```text\n" .. text:gsub("^\n", ""):gsub("%f[^\n%z]  ", "") .. "\n```" end

--- Ways of calling something, a line each.
---@param lines string[]
function M.synopsis(lines) return M.verbatim(table.concat(lines, "\n")) end

--- A tagged paragraph.
---@param tag string Markdown already
---@param text string plain
function M.item(tag, text) return ("%s\n: %s\n"):format(tag, M.text(text)) end

--- A command, as a reference to its page.
---@param page string
function M.page(page) return ("[%s](%s.md)"):format(page, page) end

---@param pages string[]
function M.see_also(pages) return table.concat(require("pmclua.base.lists").map(pages, M.page), ", ") end

---@param name string
function M.section(name) return ("\n## %s\n"):format(name) end

--- The beginning of a page.
---@param page string
---@param summary string
function M.title(page, summary) return ("# %s\n\n%s"):format(page, M.text(summary)) end

return M
