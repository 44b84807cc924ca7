--- man.lua: the manual pages, and the book's pages on commands, from the headers and option tables that `--help`
-- prints.

local describe = require "describe"
local lists = require "pmclua.base.lists"

local M = {}

local EXIT = {
  { "0", "done" },
  { "1", "failed" },
  { "2", "the command line is not valid" },
  { "3", "a limit or a prediction did not hold" },
  { "77", "nothing can be counted here, or not what a limit needs" },
  { "128 + n", "ended by signal n, after reporting what was complete" },
}

local ENVIRONMENT = {
  { "PMCLUA_PATH", "absolute folders in which scripts are looked for first, separated by colons" },
  { "LUA_PATH, LUA_CPATH", "where to look for modules that are not next to the script, as with lua(1)" },
  { "XDG_DATA_HOME", "its folder pmclua/scripts holds the user's own scripts" },
  { "XDG_STATE_HOME", "its folder pmclua holds stored results and the prompt's history" },
  { "TMPDIR", "where temporary files are made, before /tmp and /var/tmp" },
  { "XDG_CACHE_HOME", "its folder pmclua holds compiled kernels and vendors' tables" },
  { "PMCLUA_VENDOR", "folders of vendors' events and metrics, with : between them" },
  { "SYSFS_PATH", "another root for files that are read from /sys, as with perf" },
  { "NO_COLOR", "set to anything: no colours" },
  { "COLUMNS", "the width of reports" },
  { "PMCLUA_RUNNER", "another pmclua-runner" },
  { "PMCLUA_LIB", "a folder of Lua modules that replace the built-in ones" },
}

--- The part of a header as paragraphs. In the header it begins in the middle of a line, with a small letter.
local function sentences(markup, part)
  return part and markup.paragraphs((part:gsub("^%l%l*%f[%s]", function(word)
    return word == "pmclua" and word or word:sub(1, 1):upper() .. word:sub(2)
  end)))
end

local function option_tag(markup, option)
  if option.argument or option.rest then return markup.italic(option[1]) end
  local parts = describe.option(option)
  local value = parts.value and " " .. markup.italic(parts.value) or ""
  local short = parts.short and markup.bold(parts.short) .. ", " or ""
  return short .. markup.bold(parts.long) .. value
end

local function option_items(markup, options)
  return table.concat(lists.map(options, function(option)
    return markup.item(option_tag(markup, option), describe.option(option).help)
  end), "\n")
end

local function pair_items(markup, pairs)
  return table.concat(lists.map(pairs, function(pair)
    return markup.item(markup.bold(pair[1]), pair[2])
  end), "\n")
end

local function add(blocks, markup, title, text)
  if text and text ~= "" then blocks[#blocks + 1] = markup.section(title) .. "\n" .. text end
end

--- The synopsis: the header's usage, each form on a line of its own.
local function synopsis(markup, script)
  local usage = require("pmclua.cli.help").usage(script.name, script.header, script.own):gsub("^usage: ", "")
  return markup.synopsis(lists.collect(usage:gmatch "%s*([^\n]+)"))
end

--- pmclua-NAME(1).
---@param markup table roff, or markdown
---@param script install.Script
---@return string page, string name without the section
function M.script(markup, script)
  local parts, page = script.header.parts, "pmclua-" .. script.name
  local blocks = { markup.title(page, script.header.question) }
  add(blocks, markup, "Synopsis", synopsis(markup, script))
  add(blocks, markup, "Description", sentences(markup, parts.method))
  add(blocks, markup, "Options", option_items(markup, script.own))
  add(blocks, markup, "Options of every experiment", option_items(markup, script.common))
  add(blocks, markup, "Example", parts.example and markup.verbatim(parts.example))
  add(blocks, markup, "Reading the result", sentences(markup, parts.reading))
  add(blocks, markup, "Caveats", sentences(markup, parts.caveats))
  add(blocks, markup, "See also", markup.see_also { "pmclua" })
  return table.concat(blocks, "\n") .. "\n", page
end

local DESCRIPTION = [[
pmclua runs experiments with Linux hardware performance counters. A short Lua script says what to count and
what to run; the report says what it cost and which differences are real.

A word with a `/` or ending in `.lua` is the path of a script. Any other word is the name of a script, which
is looked for in the folders of `PMCLUA_PATH`, in the user's own scripts and in those installed. The words
after it belong to the script.

Results go to standard output, everything else to standard error.

The documents are in `share/doc/pmclua` below the folder where pmclua is installed, as a book in its folder
`html` where that was built. `doc/tutorial.md` leads from a first experiment to a gate in continuous
integration; `lua/REFERENCE.md` has every function, workload and key of an experiment;
`lua/pmclua/report/READING.md` explains the words of reports, `core/TRAPS.md` how counters mislead.]]

--- pmclua(1).
---@param markup table roff, or markdown
---@param scripts install.Script[]
---@return string page, string name
function M.pmclua(markup, scripts)
  local questions = table.concat(lists.map(scripts, function(script)
    return markup.item(markup.page("pmclua-" .. script.name), script.header.question)
  end), "\n")
  local blocks = { markup.title("pmclua", "experiments with hardware performance counters, in Lua") }
  add(blocks, markup, "Synopsis", markup.synopsis { "pmclua [OPTIONS] [SCRIPT.lua | NAME] [ARGUMENTS]" })
  add(blocks, markup, "Description", markup.paragraphs(DESCRIPTION))
  add(blocks, markup, "Options", pair_items(markup, require("pmclua.cli.help").COMMAND_LINE))
  add(blocks, markup, "Commands", questions)
  add(blocks, markup, "Options of every experiment",
    option_items(markup, require("pmclua.cli.experiment_options").list))
  add(blocks, markup, "Exit status", pair_items(markup, EXIT))
  add(blocks, markup, "Environment", pair_items(markup, ENVIRONMENT))
  add(blocks, markup, "See also", markup.paragraphs "perf(1), luajit(1)")
  return table.concat(blocks, "\n") .. "\n", "pmclua"
end

return M
