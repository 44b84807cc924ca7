std = "luajit"
max_line_length = 110
max_comment_line_length = 160          -- an annotation stands on one line
files["lua/pmclua/public/signatures"] = { max_string_line_length = 120 }
files["tests/spec"] = { std = "+busted" }
files["tests/lab"] = { std = "+busted" }
