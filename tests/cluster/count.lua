-- usage: pmclua tests/cluster/count.lua DIR EXPECTED: whether the files of a job have each repetition, each once.
local folder, expected = arg[1], tonumber(arg[2])
local seen, count, twice = {}, 0, 0
for name in require("lfs").dir(folder) do
  if name:find "%.jsonl$" then
    require("pmclua.store").open(folder .. "/" .. name).each(function(record)
      local key = ("%s %s %d %s"):format(record.workload, tostring(record.levels.n), record.index,
        tostring(record.warmup))
      count, twice = count + 1, twice + (seen[key] and 1 or 0)
      seen[key] = true
    end)
  end
end
print(("%d of %d repetitions, %d twice"):format(count - twice, expected, twice))
return count == expected and twice == 0 and 0 or 1
