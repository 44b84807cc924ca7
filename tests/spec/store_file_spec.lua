-- Result files: written whole or not at all, never believed, and the folder where they are kept.

local core = require "pmclua.core"
local store = require "pmclua.store"
local support = require "tests.support"
local made = require "tests.support.results"

local BIGGEST = 18446744073709551615ULL
local lines_of, message_of, read = support.lines_of, support.message_of, made.read

local function new_path() return support.folder() .. "/results.jsonl" end
local function write(header, records, path) return made.stored(path or new_path(), header, records) end

-- A file of one whole header line and what `edit` makes of the line of one record.
local function edited(edit)
  local path = write(made.header(), { made.record { 1204, 77, 5 } })
  local lines = lines_of(path)
  lines[2] = edit(lines[2])
  return support.write(path, table.concat(lines, "\n") .. "\n")
end

describe("a result file", function()
  it("is as the umask has it, or private, and is never overwritten", function()
    local path = write(made.header(), {})
    local plain = support.write(support.folder() .. "/plain", "")
    assert.equal(core.stat(plain).mode, core.stat(path).mode)
    local private = new_path()
    store.create(private, made.header(), true):finish "complete"
    assert.equal(384, core.stat(private).mode % 512)       -- 0600
    assert.matches("cannot create .*File exists", message_of(store.create, path, made.header()))
  end)

  it("is one JSON object a line, of a kind that it says first", function()
    local dkjson = require "dkjson"
    local records = made.records({ { 1, 2 }, { 3, 4 }, { 5, 6 } })
    for i, line in ipairs(lines_of(write(made.header(), records))) do
      local kind = ({ "experiment", "repetition", "repetition", "end" })[i]
      assert.equal(kind, dkjson.decode(line).kind)
      assert.equal(('{"kind":"%s"'):format(kind), line:sub(1, #kind + 10))
    end
  end)

  it("keeps the header: configs of 64 bits, levels called n, empty maps", function()
    local events = { made.event("cycles", { attr = { type = 4, config = 0x11, config1 = BIGGEST } }) }
    local header = made.header { events = events, pass_events = { { 1 } } }
    local path = write(header, {})
    assert.matches('"config":"0x11","config1":"0xffffffffffffffff"', lines_of(path)[1], 1, true)
    assert.matches('"levels":{"n":256}', lines_of(path)[1], 1, true)
    assert.matches('"per":{}', lines_of(path)[1], 1, true)
    local back = store.open(path).header
    assert.same({ type = 4, config = 0x11, config1 = BIGGEST }, back.events[1].attr)
    assert.same({ n = 512 }, back.cells[2].levels)
  end)

  it("has what ended 0.1 s ago, and not yet what ended just now", function()
    local path = new_path()
    local writer = store.create(path, made.header())
    local first = made.record({ 1, 2, 3 }, { start_ns = 1e9, wall_ns = 0 })
    writer:add(first)
    assert.equal(1, #lines_of(path))
    writer:tick(1.05e9)
    assert.equal(1, #lines_of(path))
    writer:tick(1.1e9)
    assert.equal(2, #lines_of(path))
    writer:add(made.record({ 1, 2, 3 }, { start_ns = 2e9, wall_ns = 0, index = 2 }))
    writer:add(made.record({ 1, 2, 3 }, { start_ns = 3e9, wall_ns = 0, index = 3 }))
    assert.equal(4, #lines_of(path))
    writer:close()
  end)

  it("without an end line says that the run was killed", function()
    local path = new_path()
    local writer = store.create(path, made.header())
    writer:add(made.record { 1, 2, 3 })
    writer:flush()
    writer:close()
    local records, stored = read(path)
    assert.equal(1, #records)
    assert.equal("unfinished", stored.status)
    assert.matches("no end line", stored.problems[1])
  end)

  it("that was cut off at any byte keeps all whole lines and says what is left out", function()
    local path = write(made.header(), made.records { { 1, 2 }, { 3, 4 }, { 5, 6 } })
    local text = support.read(path)
    local header_bytes = #lines_of(path)[1] + 1
    for length = header_bytes, #text - 1, 7 do
      support.write(path, text:sub(1, length))
      local records, stored = read(path)
      local whole = select(2, text:sub(1, length):gsub("\n", "")) - 1
      assert.equal(math.min(2, whole), #records)
      assert.equal("unfinished", stored.status)
      local partial = text:sub(length, length) ~= "\n"
      assert.equal(partial, (stored.problems[1]):find("cut off", 1, true) ~= nil)
    end
  end)

  it("goes on where a killed run left it, without the partial line", function()
    local path = write(made.header(), made.records { { 1, 2 }, { 3, 4 }, { 5, 6 } })
    local text = support.read(path)
    support.write(path, text:sub(1, text:find('{"kind":"end"', 1, true) - 20))
    local writer, header = store.append(path, { host_name = "here" })
    assert.equal("matrix", header.name)
    writer:add(made.record({ 7, 8, 9 }, { index = 2, order = 2 }))
    writer:finish "complete"
    local records, stored = read(path)
    assert.same({ 1, 7 }, { records[1].counts[1], records[2].counts[1] })
    assert.same({ "complete", 1, 0 }, { stored.status, stored.resumed, #stored.problems })
  end)

  it("goes on after an interrupted end", function()
    local path = new_path()
    store.create(path, made.header()):finish "interrupted"
    local writer = store.append(path)
    writer:add(made.record { 1, 2, 3 })
    writer:finish "complete"
    local records, stored = read(path)
    assert.equal(1, #records)
    assert.equal("complete", stored.status)
  end)

  it("is written by one process at a time", function()
    local path = new_path()
    local writer = store.create(path, made.header())
    assert.matches("another pmclua is writing", message_of(store.append, path))
    writer:finish "complete"
    store.append(path):finish "complete"
  end)

  it("is not written through a symbolic link", function()
    local path = write(made.header(), {})
    local link = support.folder() .. "/link.jsonl"
    os.execute(("ln -s '%s' '%s'"):format(path, link))
    assert.matches("symbolic link", message_of(store.append, link))
    assert.matches("File exists", message_of(store.create, link, made.header()))
  end)

  it("on a full disk keeps every whole line, says so, and goes on when there is room", function()
    support.need(support.have_root(), "needs root")
    local folder = support.folder()
    if os.execute(("mount -t tmpfs -o size=16k none '%s' 2>/dev/null"):format(folder)) ~= 0 then
      return pending "tmpfs cannot be mounted here"
    end
    local ok, problem = pcall(function()
      local header = made.header { workloads = { { name = "rows", kind = "command", per = "run" } } }
      local path = folder .. "/results.jsonl"
      local writer = store.create(path, header)
      for i = 1, 100 do writer:add(made.record({ i, i, i }, { index = i, order = i, start_ns = 0 })) end
      assert.matches("disk is full", message_of(writer.flush, writer))
      assert.matches("}\n$", support.read(path))
      local kept = #read(path)
      assert.is_true(kept > 10 and kept < 100)
      os.execute(("mount -o remount,size=1m '%s'"):format(folder))
      writer:finish "complete"
      local records, stored = read(path)
      assert.same({ 100, "complete" }, { #records, stored.status })
      for i, record in ipairs(records) do assert.equal(i, record.counts[1]) end
    end)
    os.execute(("umount -l '%s'"):format(folder))
    assert(ok, problem)
  end)
end)

describe("a file that anyone may have written", function()
  it("is refused where it is no result file, with the reason", function()
    local folder = support.folder()
    local rows = {
      { "", "no whole first line" }, { "hello\n", "not a JSON object" }, { "{}\n", "not of kind" },
      { '{"kind":"experiment","schema":2}\n', "its schema is 2" },
      { '{"kind":"experiment","schema":1}\n', "no list of events" },
      { '{"kind":"experiment","schema":1,"events":[],"workloads":[],"cells":[{"workload":"x"}]}\n',
        "cell 1 names no workload" },
      { '{"kind":"experiment","schema":1,"seed":18446744073709551615}\n', "integer above 2^53" },
      { '{"kind":"experiment",' .. ('"a":{'):rep(70) .. ("}"):rep(70) .. "}\n", "not a JSON object" },
    }
    for i, row in ipairs(rows) do
      local path = support.write(folder .. "/" .. i, row[1])
      assert.matches(row[2], message_of(store.open, path), 1, true)
    end
    assert.matches("No such file", message_of(store.open, folder .. "/absent"))
    assert.matches("it is a folder; only a job's is read, and alone", message_of(store.open, folder))
  end)

  local function problem(edit) return message_of(read, edited(edit)) end

  it("is refused at the line that is wrong, whatever is wrong with it", function()
    local rows = {
      { function() return "{" end, "line 2: it is not a JSON object" },
      { function(l) return l:gsub("1204", "18446744073709551616") end, "above 2^64-1" },
      { function(l) return l:gsub("1204", "-1204") end, "'counts' is not a list of unsigned integers" },
      { function(l) return l:gsub("1204", "12.04") end, "'counts' is not a list of unsigned integers" },
      { function(l) return l:gsub("1204", "\"1204\"") end, "'counts' is not a list of unsigned integers" },
      { function(l) return l:gsub("1204,", "") end, "not of this pass's length" },
      { function(l) return l:gsub('"times":%[1', '"times":[7') end, "an entry that is not there" },
      { function(l) return l:gsub('"cell":1', '"cell":3') end, "no such cell" },
      { function(l) return l:gsub('"pass":1', '"pass":3') end, "no such pass" },
      { function(l) return l:gsub('"n":256', '"n":512') end, "level 'n' is not that of its cell" },
      { function(l) return l:gsub('"n":256', '"m":256') end, "level 'm' is not that of its cell" },
      { function(l) return l:gsub('"rows"', '"columns"') end, "no such cell" },
      { function(l) return l:gsub('"done"', '"fine"') end, "no outcome 'fine'" },
      { function(l) return l:gsub('"repetition"', '"repetitive"') end, "no kind 'repetitive'" },
      { function(l) return l:gsub('"index":1', '"index":null') end, "'index' or 'order' is no index" },
      { function(l) return l:gsub('"iterations":10', '"iterations":0') end,
        "'iterations' is no number of them" },
      { function(l) return l:gsub('"done"', '"done","why":7') end, "'why' is not what it should be" },
      { function(l) return l:gsub('"done"', '"done","cpu":true') end, "'cpu' is not a text" },
      { function(l) return l:gsub('"done"', '"done","task":"first"') end, "'task' is not a number" },
      { function(l) return l:gsub('"wall_ns"', '"wall"') end, "'wall_ns' is expected where 'wall' is" },
      { function(l) return l:gsub("}$", ',"more":1}') end, "'more' is no field" },
      { function(l) return l:gsub('"done"', '"do\0ne"') end, "it is not a JSON object" },
      { function(l) return l:gsub("1204", ("["):rep(100) .. ("]"):rep(100)) end, "nested too deep" },
      { function(l) return l .. l end, "it is not a JSON object" },
      { function() return '{"kind":"end","status":"fine"}' end, "no such end" },
      { function(l) return '{"kind":"end","status":"complete"}\n' .. l end, "line 3: it comes after" },
    }
    for _, row in ipairs(rows) do assert.matches(row[2], problem(row[1]), 1, true) end
  end)

  it("is refused where a member of its first line is not of its kind", function()
    for given, refused in pairs {
      ['"per":"x"'] = "per of its first line is not", ['"question":7'] = "question of its first line is not",
      ['"margin":[[]]'] = "margin of its first line is not", ['"level":2'] = "level of its first line is not",
      ['"overhead":[{"median":"x"}]'] = "overhead of its first line is not",
      ['"schema":"\\u001b[31m"'] = "its schema is \\e[31m",
      ['"host":{"cpus":1e999}'] = "it has a number above the largest double",
      ['"baseline":{"n":3}'] = "its baseline is of no n '3'",
      ['"baseline":"columns"'] = "its baseline is of no workload 'columns'",
      ['"events":[{"name":"a","field":"a-b"}]'] = "event 1 has a field that no formula can name",
      ['"events":[{"name":"a","field":"a","status":"fine"}]'] = "event 1 has an unknown status",
      ['"events":[{"name":"a","field":"a","part_of":[]}]'] = "part_of of event 1 is not",
    } do
      local line = lines_of(write(made.header(), {}))[1]
      -- The last of two members of one name is taken.
      line = line:gsub("}$", "," .. given .. "}")
      assert.matches(refused, message_of(read, support.write(new_path(), line .. "\n")), 1, true)
    end
  end)

  it("is refused where packed columns do not fit each other", function()
    local column = { 1, 2, 3, 4, 5, 6, 7, 8 }
    local path = write(made.header(), made.records { column, column })
    local lines = lines_of(path)
    local rows = {
      { '"index":%[1,', '"index":[', "columns differ in length" },
      { '"counts":%[%[1,', '"counts":[[', "columns differ in length" },
      { '"counts":%[%[', '"counts":[[1],[', "not of this pass's length" },
      { '"times":%[1', '"times":[9', "an entry that is not there" },
      { '"index":%b[]', '"index":1', "'index' is not a column" },
      { '"enabled":%[', '"enabled":[[1],', "'enabled' and 'running' differ" },
    }
    for _, row in ipairs(rows) do
      local line, count = lines[2]:gsub(row[1], row[2], 1)
      assert.equal(1, count)
      support.write(path, lines[1] .. "\n" .. line .. "\n")
      assert.matches(row[3], message_of(read, path), 1, true)
    end
  end)

  -- The seed is fixed, so that a failure is found again.
  it("brings in nothing but what the schema has, or a message, however it is mutated", function()
    local random = require("pmclua.stats").random(2026, "store fuzz")
    local header = made.header { pass_events = { { 1, 2, 3 }, { 1, 3 } } }
    local thread = { counts = { 1, 2, 3 }, enabled = { 9, 9, 9 }, running = { 9, 9, 8 } }
    local column = { 1, 2, 3, 4, 5, 6, 7, 8 }
    local records = made.records { column, { 9, 9, 9, 9, 9, 9, 9, 9 }, column }
    records[9] = made.record({ 1, 2, 3 }, { threads = { thread }, why = "slow", outcome = "timed-out" })
    local path = write(header, records)
    local original = support.read(path)
    local pieces = { "0", "-1", "null", "18446744073709551616", "1e9", "[", "]", "{", "}", ",", '"', "\\",
      "\0", "\n" }
    for _ = 1, 2000 do
      local text = original
      for _ = 1, random:integer(4) do
        local at, length = random:integer(#text), random:integer(9) - 1
        text = text:sub(1, at - 1) .. pieces[random:integer(#pieces)] .. text:sub(at + length)
      end
      support.write(path, text)
      local ok, result = pcall(read, path)
      if ok then
        for _, record in ipairs(result) do
          assert.is_true(header.cells[record.cell] ~= nil and type(record.index) == "number")
          for _, count in pairs(record.counts) do
            assert.is_true(type(count) == "number" and count >= 0 or core.is_u64(count))
          end
        end
      else
        assert.matches("^cannot read ", tostring(result))
      end
    end
  end)
end)

describe("the folder of results", function()
  local function in_home(fn)
    local home = support.folder()
    return support.with_env({ HOME = home, XDG_STATE_HOME = false }, function() return fn(home) end)
  end

  it("is made private under XDG_STATE_HOME, or under the home", function()
    in_home(function(home)
      local path = store.default_path "matrix"
      assert.equal(home .. "/.local/state/pmclua/results", path:match "^(.*)/")
      assert.equal(448, core.stat(store.folder()).mode % 512)       -- 0700
    end)
    local state = support.folder()
    support.with_env({ XDG_STATE_HOME = state }, function()
      assert.equal(state .. "/pmclua/results", store.default_path("matrix"):match "^(.*)/")
    end)
  end)

  it("has a name for each experiment that no hostile name can lead elsewhere", function()
    in_home(function()
      for _, name in ipairs { "../../x", "a/b", "", "-rf", "x\ny", ("long"):rep(100) } do
        local file = store.default_path(name):match "[^/]*$"
        assert.matches("^%d+T%d+Z%-[%w_][%w._-]*%.jsonl$", file)
        assert.is_true(#file < 100)
      end
      local first = write(made.header(), {}, store.default_path "matrix")
      assert.not_equal(first, store.default_path "matrix")
    end)
  end)

  it("knows the last result, and none where there is none", function()
    in_home(function()
      assert.is_nil(store.latest())
      local first = write(made.header(), {}, store.default_path "a")
      os.execute(("touch -d '1 hour ago' '%s'"):format(first))
      local second = write(made.header(), {}, store.default_path "b")
      assert.equal(second, store.latest())
      assert.same({ second, first }, { store.list()[1].path, store.list()[2].path })
    end)
  end)

  it("loses only what prune was asked to remove", function()
    in_home(function()
      local paths = {}
      for i = 1, 4 do
        paths[i] = write(made.header(), {}, store.default_path("r" .. i))
        os.execute(("touch -d '%d days ago' '%s'"):format(i, paths[i]))
      end
      assert.has_error(function() store.prune() end, "prune needs keep or older_than")
      assert.same({ paths[4] }, { store.prune({ older_than = 3.5 * 86400 })[1].path })
      store.prune { keep = 1 }
      assert.same({ paths[1] }, { store.latest() })
      assert.equal(1, #store.list())
    end)
  end)

  it("prunes a file whose time is ahead of the clock's second, unless an age is asked", function()
    in_home(function()
      local path = write(made.header(), {}, store.default_path "ahead")
      os.execute(("touch -d '5 seconds' '%s'"):format(path))
      assert.same({}, store.prune { older_than = 0 })
      assert.same({ path }, { (store.prune { keep = 0 }[1] or {}).path })
    end)
  end)

  it("keeps what is being written", function()
    in_home(function()
      local writer = store.create(store.default_path "running", made.header())
      assert.same({}, store.prune { keep = 0 })
      writer:finish "complete"
      assert.equal(1, #store.prune { keep = 0 })
    end)
  end)
end)
