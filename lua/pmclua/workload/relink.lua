--- relink.lua: a build whose links are kept, so that its programs can be linked again with their functions in another
--- order: layouts of programs whose build has no {seed}.
--
-- The build runs as it is, but finds compilers and linkers of ours first: the compilers put each function into a section
-- of its own, the linkers keep their words. A layout is each of these links again, by lld, which draws the order of
-- sections. Invariant: where it cannot be drawn, the build fails; what is not linked anew is not taken for a layout.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local shellwords = require "pmclua.workload.shellwords"

local M = {}

-- A compiler under its own name. What asks for paths gets the true ones: libtool would keep ours.
local COMPILER = [[
name=$(basename "$0") folder=$(dirname "$0")
PATH=$PMCLUA_TOOLS
export PATH
case " $* " in *" -print-"*) exec "$name" "$@" ;; esac
exec "$name" -ffunction-sections -B"$folder" "$@"
]]

-- A linker under its own name: links, then keeps its words, what it made and its inputs that will be removed.
local LINKER = [[
name=$(basename "$0")
PATH=$PMCLUA_TOOLS
export PATH
"$name" "$@" || exit
out= before=
for word; do
  case $before in -o | --output) out=$word ;; esac
  case $word in
    -r | -i | --relocatable) exit 0 ;;
    -o?*) out=${word#-o} ;;
    --output=*) out=${word#--output=} ;;
  esac
  before=$word
done
[ -f "$out" ] || exit 0
kept=$PMCLUA_LINKS/$(printf %s "$PWD/$out" | cksum | tr ' ' -)
rm -rf "$kept"
mkdir -p "$kept"
printf %s "$PWD" >"$kept/folder"
printf %s "$out" >"$kept/out"
cp -p "$out" "$kept/made"
temporary=${TMPDIR:-/tmp} count=0
for word; do
  file=${word#@}
  case ${file#"$temporary"/} in
    "$file" | */*) ;;
    *)
      if [ -f "$file" ]; then
        count=$((count + 1))
        cp "$file" "$kept/$count"
        word=${word%"$file"}$kept/$count
      fi ;;
  esac
  printf '%s\0' "$word"
done >"$kept/words"
]]

-- layout SEED FIRST BUILD FOLDER…: builds in each folder where FIRST is not empty, then links again. 0: as it was built.
local LAYOUT = [[
tool=$(cd "$(dirname "$0")" && pwd) start=$PWD seed=$1 first=$2 build=$3
shift 3
fail() { echo "$1" >&2; exit 1; }
command -v ld.lld >/dev/null || fail "layouts are drawn by lld, which is not installed: apt-get install lld"
export PMCLUA_LINKS PMCLUA_TOOLS
PMCLUA_TOOLS=$PATH
for folder; do
  cd "$start" && cd -- "$folder" || exit
  PMCLUA_LINKS=${PMCLUA_KEPT:-$tool/links}/$(pwd -P | cksum | tr ' ' -)
  mkdir -p "$PMCLUA_LINKS"
  if [ "$first" ]; then
    chmod +x "$tool/bin/compiler" "$tool/bin/linker"
    COMPILER_PATH=$tool/bin PATH=$tool/bin:$PATH /bin/sh -c "$build" || exit
  fi
  count=0
  for link in "$PMCLUA_LINKS"/*/; do
    out=$(cat "$link/out" 2>/dev/null) && cd "$(cat "$link/folder")" && [ -e "$out" ] || continue
    count=$((count + 1))
    if [ "$seed" = 0 ]; then
      cp -p "$link/made" "$out.made" && mv -f "$out.made" "$out" || exit
    else
      xargs -0 -x -s 1000000 ld.lld --shuffle-sections=".text*=$seed" <"$link/words" || exit
    fi
  done
  [ "$count" -gt 0 ] || fail "it linked nothing in $folder: it must make all anew, as make -B does"
done
]]

local COMPILERS = { "cc", "c++", "gcc", "g++", "clang", "clang++" }
local LINKERS = { "ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold" }

local function write(path, script)
  local ok, _, errnum = core.replace(path, "#!/bin/sh\n" .. script)
  if not ok then
    error(require("pmclua.explain").system(errnum, "write", path), 0)
  end
end

-- One script under several names.
local function write_named(folder, file, names, script)
  write(folder .. "/" .. file, script)
  for _, name in ipairs(names) do require("lfs").link(file, folder .. "/" .. name, true) end
end

local made                      -- of this process: a second run must find the links of the first

--- The folder of the tool, which is made once and removed when this process ends.
---@return string
function M.folder()
  if made then return made end
  local folder = require("pmclua.host.temporary").make("links", { for_code = true })
  require("lfs").mkdir(folder .. "/bin")
  write(folder .. "/layout", LAYOUT)
  write_named(folder .. "/bin", "compiler", COMPILERS, COMPILER)
  write_named(folder .. "/bin", "linker", LINKERS, LINKER)
  made = folder
  return made
end

--- The words that make the layout of a seed; {links} in them stands for the tool's folder, {first} for whether the build
--- itself is to run.
---@param build string for /bin/sh
---@param folders string[] in which it is built
---@return string[]
function M.words(build, folders)
  return lists.joined { { "/bin/sh", "{links}/layout", "{seed}", "{first}", build }, folders }
end

--- A shell's line that builds in its working directory, or links there again what was built.
---@param build string for /bin/sh
---@param seed integer 0: as it was built
---@param is_first boolean the build itself is to run
---@param kept string the folder of its links, which outlives this process
---@return string
function M.line(build, seed, is_first, kept)
  local words = M.words(build, { "." })
  local levels = { links = M.folder(), seed = ("%d"):format(seed), first = is_first and "first" or "" }
  for i = 1, 4 do words[i] = shellwords.fill(words[i], levels) end
  return ("PMCLUA_KEPT=%s %s"):format(shellwords.join { kept }, shellwords.join(words))
end

return M
