std = "luajit"
max_line_length = 110
files["tests/spec"] = { std = "+busted" }
files["tests/lab"] = { std = "+busted" }
