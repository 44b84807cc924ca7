--- store/init.lua: result files: JSON Lines, written while an experiment runs and read back as records. README.md has the
-- schema.

local writer = require "pmclua.store.writer"
local reader = require "pmclua.store.reader"
local folder = require "pmclua.store.folder"

return {
  SCHEMA = require("pmclua.store.header").SCHEMA,
  create = writer.create,
  create_unasked = writer.create_unasked,
  append = writer.append,
  open = reader.open,
  folder = folder.folder,
  default_path = folder.default_path,
  list = folder.list,
  latest = folder.latest,
  prune = folder.prune,
}
