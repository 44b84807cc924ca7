-- Marks of programs in C, C++, Fortran and Lua, of several files and of shared libraries.

local marks = require "tests.support.marks"
local support = require "tests.support"

local cc, counted = marks.cc, marks.counted

-- Touches 200 pages, then 100 and 200 in two threads.
local FORTRAN = [[
program main
  use, intrinsic :: iso_c_binding
  use omp_lib
  use pmclua_mark
  implicit none
  interface
    function mmap(at, bytes, rights, flags, fd, offset) bind(c)
      import
      integer(c_intptr_t), value :: at, offset
      integer(c_size_t), value :: bytes
      integer(c_int), value :: rights, flags, fd
      type(c_ptr) :: mmap
    end function
  end interface
  call pmclua_mark_begin(repeat("n", 80))
  call pmclua_mark_end(repeat("n", 80))
  call pmclua_mark_begin("once  ")
  call touch(200)
  call pmclua_mark_end("once")
  !$omp parallel num_threads(2)
  call pmclua_mark_begin("of threads")
  call touch(100 * (omp_get_thread_num() + 1))
  call pmclua_mark_end("of threads")
  !$omp end parallel
contains
  subroutine touch(pages)
    integer, intent(in) :: pages
    integer(c_int8_t), pointer, volatile :: bytes(:)
    integer :: i
    type(c_ptr) :: memory
    memory = mmap(0_c_intptr_t, 4096_c_size_t * pages, 3, 34, -1, 0_c_intptr_t)
    call c_f_pointer(memory, bytes, [4096 * pages])
    do i = 1, pages
      bytes(4096 * i) = 1
    end do
  end subroutine
end program]]

-- Two C files and one of C++ with the same marks, and a shared library.
local FILES = {
  ["one.c"] = marks.HEAD .. "extern void two(void), three(void), four(void);\n"
    .. "int main(void) { MARK(\"shared\", touch(1)); two(); three(); four(); return 0; }",
  ["two.c"] = marks.HEAD .. 'void two(void) { MARK("shared", touch(10)); }',
  ["three.cc"] = marks.HEAD .. 'extern "C" void three(void) { pmclua::mark here("shared"); touch(100); }',
  ["four.c"] = marks.HEAD .. 'void four(void) { MARK("shared", touch(1000)); MARK("library", touch(5)); }',
}

describe("marks", function()
  it("are those of Fortran programs, OpenMP's threads among them", function()
    support.need(support.have "gfortran" and support.have "cc", "gfortran (tests/packages others)")
    local folder, core = support.folder(), support.root .. "/core"
    support.write(folder .. "/marks.c", "#include <pmclua_mark.h>\n")
    support.write(folder .. "/program.f90", FORTRAN)
    cc { "cc", "-O2", "-I" .. core, "-c", "-o", folder .. "/marks.o", folder .. "/marks.c" }
    cc { "gfortran", "-O2", "-Wall", "-Werror", "-std=f2008", "-fopenmp", "-J" .. folder, "-o",
      folder .. "/program", core .. "/pmclua_mark.f90", folder .. "/program.f90", folder .. "/marks.o" }
    local faults, entries, _, records = counted(folder .. "/program")
    assert.same({ once = 200, ["of threads"] = 300, [("n"):rep(63)] = 0 }, faults)
    assert.same({ once = 1, ["of threads"] = 2, [("n"):rep(63)] = 1 }, entries)
    for _, record in ipairs(records) do
      if record.region == "of threads" then
        assert.equal(2, #record.threads)
        assert.equal(100, math.min(record.threads[1].counts[1], record.threads[2].counts[1]))
      end
    end
  end)

  it("of several files, of C++ and of a shared library are one program's", function()
    support.need(support.have "c++", "no C++ compiler")
    local folder = support.folder()
    for name, text in pairs(FILES) do support.write(folder .. "/" .. name, text) end
    local include = "-I" .. support.root .. "/core"
    cc { "cc", "-shared", "-fPIC", include, "-o", folder .. "/libfour.so", folder .. "/four.c" }
    for _, name in ipairs { "one.c", "two.c", "three.cc" } do
      cc { name:find "cc$" and "c++" or "cc", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", include,
        "-c", "-o", folder .. "/" .. name .. ".o", folder .. "/" .. name }
    end
    cc { "c++", "-o", folder .. "/all", folder .. "/one.c.o", folder .. "/two.c.o", folder .. "/three.cc.o",
      "-L" .. folder, "-lfour", "-Wl,-rpath," .. folder, "-lpthread" }
    local faults, entries = counted(folder .. "/all")
    assert.same({ shared = 1111, library = 5 }, faults)
    assert.same({ shared = 4, library = 1 }, entries)
  end)

  it("are set from other languages through a shared library of the header alone", function()
    support.need(support.have "cc" and support.have "luajit", "no C compiler or no luajit")
    local folder = support.folder()
    support.write(folder .. "/marks.c", "#include <pmclua_mark.h>\n")
    cc { "cc", "-shared", "-fPIC", "-I" .. support.root .. "/core", "-o", folder .. "/libpmclua_mark.so",
      folder .. "/marks.c" }
    local script = support.write(folder .. "/script.lua", ([[
      local ffi = require "ffi"
      ffi.cdef "void pmclua_mark_enter(const char *name); void pmclua_mark_leave(const char *name);"
      local marks = ffi.load "%s/libpmclua_mark.so"
      for _ = 1, 3 do marks.pmclua_mark_enter "lua" marks.pmclua_mark_leave "lua" end]]):format(folder))
    local _, entries = counted("luajit " .. script)
    assert.same({ lua = 3 }, entries)
    assert.equal(0, support.run({ "luajit", script }).status)
  end)
end)
