-- Files that the user names to be written: nobody else decides which files these are. Another user makes links and files
-- in a folder where all may, or in his own.

local lfs = require "lfs"
local support = require "tests.support"

local KEY = "root's own"
local KERNEL = support.root .. "/tests/fixtures/hostile/slow.lua"

setup(function() support.need(support.have_root(), "it takes root to be attacked by another user") end)

-- A folder where all may make files, as /tmp is; one of the other user's; a file of root's.
local function places()
  local folder = support.folder()
  local key = support.write(folder .. "/key", KEY)
  local make = "cd %s && chmod 600 key && mkdir -m 1777 all && mkdir theirs && chown 65534:65534 theirs"
  os.execute(make:format(folder))
  return { all = folder .. "/all", theirs = folder .. "/theirs" }, key
end

-- Has the other user run a line of shell in a folder.
local function other(folder, line)
  local done = support.run({ "sh", "-ec", line }, { folder = folder, user = true })
  assert.equal(0, done.status, done.err)
end

local WAYS = {
  report = function(path) return { "stat", "-e", "page-faults", "-r", "1", "-o", path, "--", "true" } end,
  ["list of values"] = function(path)
    return { "stat", "-e", "page-faults", "-r", "1", "-j", "-o", path, "--", "true" }
  end,
  ["stored result"] = function(path) return { KERNEL, "--repetitions", "1", "--quiet", "--store", path } end,
  profile = function(path) return { "where", "-e", "page-faults", "-o", path, "--", "true" } end,
}

local ATTACKS = {
  { "a link to a file of root's", 'ln -s "$KEY" out', true },
  { "a link to what is not there", 'ln -s "${KEY}-new" out', true },
  { "a link to a folder", 'ln -s "${KEY%/*}" sub', true, "sub/out" },
  { "a file", "echo mine >out; chmod 666 out", false },
  { "a FIFO", "mkfifo -m 666 out", true },
}

describe("a file that root names to be written", function()
  for what, words in pairs(WAYS) do
    for _, attack in ipairs(ATTACKS) do
      for _, place in ipairs { "all", "theirs" } do
        local is_refused = attack[3] or place == "all" or what == "stored result"
        local how = is_refused and "is not written where" or "may be written where"
        it(("(a %s) %s another user has put %s %s"):format(what, how, attack[1],
          place == "all" and "in a folder for all" or "in his own"), function()
          local folders, key = places()
          other(folders[place], ("KEY=%s; %s"):format(key, attack[2]))
          local path = folders[place] .. "/" .. (attack[4] or "out")
          local result = support.pmclua(words(path), { limit_s = 20 })
          assert.equal(is_refused, result.status ~= 0 and result.status ~= 124, result.err)
          assert.equal(KEY, support.read(key))
          assert.is_nil(lfs.attributes(key .. "-new"))
          assert.is_nil(lfs.attributes(key:gsub("key$", "out")))
          local said = result.err:gsub("%s+", " ")
          local is_said = said:find "another user" or said:find "File exists"
          assert.is_truthy(not is_refused or is_said, said)
        end)
      end
    end
  end

  it("is not written through a link to a file that he has linked", function()
    local folders, key = places()
    os.execute(("ln %s %s/out"):format(key, folders.theirs))
    local result = support.pmclua(WAYS.report(folders.theirs .. "/out"))
    assert.same({ 125, KEY }, { result.status, support.read(key) })
    assert.matches("another user has put a file there", result.err, 1, true)
  end)

  it("is resumed where it is root's own alone", function()
    local folders = places()
    local path = folders.all .. "/stored.jsonl"
    assert.equal(0, support.pmclua(WAYS["stored result"](path)).status)
    os.execute(("chown 65534 %s"):format(path))
    local result = support.pmclua { KERNEL, "--quiet", "--resume", path }
    assert.equal(1, result.status)
    assert.matches("another user has put a file there", result.err, 1, true)
  end)
end)

describe("a file to be written", function()
  it("may be behind one's own links, in a new file, an old one, a FIFO, a device and a descriptor", function()
    local folders, key = places()
    local folder = key:match "^(.*)/"
    os.execute(("cd %s && mkdir real && ln -s real link && ln -s ../real/file real/last && echo %s >real/old")
      :format(folder, ("x"):rep(10000)))
    for _, name in ipairs { "link/new", "link/last", "link/old", "./link/../link/new", "all/new" } do
      local result = support.pmclua(WAYS.report(name), { folder = folder })
      assert.equal(0, result.status, result.err)
      assert.matches("page%-faults +%d", support.read(folder .. "/" .. name))
    end
    assert.is_nil(support.read(folder .. "/real/old"):find "xxx")
    assert.matches("page%-faults", support.read(folder .. "/real/file"))
    local line = ([[cd %s; mkfifo fifo; cat fifo >read & "$0" "$@" -o fifo -- true; wait; cat read;
      "$0" "$@" -o /dev/null -- true; "$0" "$@" -o /dev/fd/5 -- true 5>&1 | cat;
      "$0" "$@" -o /dev/stdout -- true | cat]]):format(folder)
    local words = { "sh", "-ec", line, support.program, "stat", "-e", "page-faults", "-r", "1" }
    local result = support.run(words, { limit_s = 30 })
    assert.equal(0, result.status, result.err)
    assert.equal(3, select(2, result.out:gsub("page%-faults +%d", "")))
    assert.is_string(folders.all)
  end)

  it("may not be a folder, a name that is too long, or below what is none", function()
    for _, name in ipairs { "/", "/tmp/", "/tmp/.", ("x"):rep(5000), "/dev/null/x", "/nowhere/x" } do
      local result = support.pmclua(WAYS.report(name))
      assert.equal(125, result.status, name)
      assert.matches("cannot write", result.err, 1, true)
    end
  end)
end)
