--- calls: the ways in which each libc call of pmclua and its runner can fail, and the calls that are left
-- alone.
--
-- The calls that the shim can make fail are in shim.c (CALLS); `names` reads them there. Every other import
-- of the programs is in LEFT, with the reason, or cannot fail (PURE); tests/spec/faults_spec.lua checks that.

local support = require "tests.support"

local M = {}

--- Beside errnos: nothing comes; a part of it comes; all of it, 30 ms late.
M.NUMBERS = { ZERO = -1, SHORT = -2, LATE = -3,
  EPERM = 1, ENOENT = 2, ESRCH = 3, EINTR = 4, EIO = 5, E2BIG = 7, ENOEXEC = 8, EBADF = 9, ECHILD = 10,
  EAGAIN = 11, ENOMEM = 12, EACCES = 13, EFAULT = 14, EBUSY = 16, EEXIST = 17, ENODEV = 19, EINVAL = 22,
  ENFILE = 23, EMFILE = 24, ENOTTY = 25, ETXTBSY = 26, ENOSPC = 28, EROFS = 30, EPIPE = 32, ENOSYS = 38,
  ELOOP = 40, EOPNOTSUPP = 95, ECONNRESET = 104, ENOTCONN = 107 }

--- How each call can fail: its man page, less what only a mistake in the caller gives.
---@type table<string, string>
M.WAYS = {
  perf_event_open = "EACCES EBUSY E2BIG EINVAL EMFILE ENODEV ENOENT ENOSPC ENOSYS EOPNOTSUPP EPERM ESRCH "
    .. "EINTR ENOMEM LATE",
  perf_read = "EINTR EIO ENOSPC ECHILD ZERO",
  pidfd_open = "ENOSYS EPERM EMFILE ENOMEM",
  ioctl = "EINTR EINVAL ENOTTY EBADF ENOMEM",
  -- files
  read = "EINTR EIO ENOSPC ZERO SHORT", pread = "EINTR EIO ZERO SHORT",
  write = "EINTR EIO ENOSPC EPIPE SHORT LATE",
  open = "EINTR EACCES EMFILE ENFILE ENOENT ENOSPC EROFS ELOOP", close = "EINTR EIO",
  lseek = "EIO", ftruncate = "EIO EINTR", flock = "EAGAIN EINTR ENOSYS", fstat = "EIO ENOMEM",
  stat = "EACCES ENOENT EIO", lstat = "EACCES ENOENT EIO", access = "EACCES EIO",
  rename = "EACCES ENOSPC EROFS", remove = "EACCES EROFS", mkdir = "EACCES ENOSPC EROFS EEXIST",
  openat = "EACCES EMFILE", unlinkat = "EACCES EROFS", statvfs = "EIO ENOSYS",
  mkostemp = "EACCES ENOSPC EMFILE", mkdtemp = "EACCES ENOSPC EROFS", mkfifo = "EACCES ENOSPC EROFS",
  realpath = "EACCES ENOENT EIO",
  opendir = "EACCES EMFILE ENOENT", readdir = "EIO ZERO",
  -- streams
  fopen = "EACCES EMFILE ENOENT ENOMEM", freopen = "EACCES EMFILE",
  -- Less than was asked for means that the file ends there, which is what a shorter file is: no failure.
  fread = "EIO", fgets = "EIO",
  fwrite = "EIO ENOSPC SHORT", fflush = "EIO ENOSPC", fseeko = "EIO",
  fclose = "EIO ENOSPC",
  -- memory
  dlopen = "ENOMEM", mmap = "ENOMEM EAGAIN", munmap = "ENOMEM", mprotect = "ENOMEM",
  madvise = "EINVAL", malloc = "ENOMEM", calloc = "ENOMEM", realloc = "ENOMEM",
  -- descriptors
  pipe2 = "EMFILE ENFILE", fcntl = "EMFILE EINTR",
  eventfd = "EMFILE ENOMEM",
  socketpair = "EMFILE ENOMEM", send = "EINTR EPIPE ENOMEM ECONNRESET SHORT LATE",
  recv = "EINTR ECONNRESET ENOMEM ZERO SHORT LATE", shutdown = "ENOTCONN",
  poll = "EINTR ENOMEM ZERO LATE", ppoll = "EINTR ENOMEM ZERO LATE",
  epoll_create1 = "EMFILE ENOMEM", epoll_ctl = "ENOMEM ENOSPC", epoll_wait = "EINTR",
  -- processes and threads
  posix_spawn = "EAGAIN ENOMEM ENOENT EACCES", clone = "EAGAIN ENOMEM ENOSYS EPERM LATE",
  waitid = "EINTR ECHILD", wait4 = "EINTR ECHILD", waitpid = "EINTR ECHILD", kill = "EPERM ESRCH",
  pthread_create = "EAGAIN EPERM",
  child_execve = "E2BIG EACCES EIO ELOOP EMFILE ENOENT ENOEXEC ENOMEM EPERM ETXTBSY",
  child_dup3 = "EBUSY EMFILE", child_setpgid = "EPERM", child_chdir = "EACCES ENOENT EIO",
  child_sched_setaffinity = "EINVAL EPERM", child_personality = "EINVAL",
  sched_setaffinity = "EINVAL EPERM", sched_getaffinity = "EINVAL", personality = "EINVAL",
  getrlimit = "EPERM", setrlimit = "EPERM EINVAL", setitimer = "EINVAL", prctl = "EPERM EINVAL",
  sigaction = "EINVAL", getrusage = "EFAULT",
}

--- What is imported and not made to fail, and why.
---@type table<string, string>
M.LEFT = {
  -- They allocate by malloc, which is made to fail.
  asprintf = "malloc", strdup = "malloc", strndup = "malloc", vasprintf = "malloc",
  posix_spawn_file_actions_adddup2 = "malloc", posix_spawn_file_actions_addopen = "malloc",
  posix_spawn_file_actions_init = "malloc",
  posix_spawnattr_init = "malloc", pthread_attr_init = "malloc", pthread_attr_setaffinity_np = "malloc",
  setenv = "malloc",
  qsort = "malloc: without it sorts in place",
  tsearch = "malloc", tfind = "only compares", tdelete = "frees", tdestroy = "frees", twalk_r = "only walks",
  posix_fallocate = "reserves the log of allocations, which no scenario has: refused with TMPDIR's name",
  -- Their failure is an answer, or a mistake in the caller.
  uname = "fails for a bad address alone",
  isatty = "no is an answer", sysconf = "a number that this libc knows or does not",
  clock_gettime = "a clock that every Linux has", clock = "a clock that every Linux has",
  time = "a clock that every Linux has",
  getauxval = "a number that every process has", pthread_getcpuclockid = "a clock that every thread has",
  geteuid = "cannot fail", getpid = "cannot fail", getppid = "cannot fail", getpgrp = "cannot fail",
  gettid = "cannot fail", sched_getcpu = "without an answer the runner goes to its CPU once more",
  dlsym = "looks in what is loaded", dladdr = "looks in what is loaded", dlclose = "gives back",
  dlerror = "words",
  sigprocmask = "fails for a wrong argument alone", pthread_sigmask = "fails for a wrong argument alone",
  pthread_join = "fails for a wrong argument alone", pthread_once = "fails for a wrong argument alone",
  unsetenv = "fails for a wrong argument alone",
  setvbuf = "a stream that stays as it was", closedir = "gives back",
  popen = "LuaJIT's, for scripts: pmclua has none", pclose = "as popen",
  fileno = "fails for a wrong argument alone", dirfd = "fails for a wrong argument alone",
  ftello64 = "a position that fseeko has found", getc = "reads what fread and fgets read: fails as they do",
  localtime_r = "without its file the time zone is UTC", mktime = "without its file the time zone is UTC",
  sigaltstack = "without it a kernel whose stack is full is told of by its signal alone",
  raise = "a signal to oneself", signal = "the default action, for a signal that has one",
  pause = "it only ever ends by a signal", fork = "in place of clone, under valgrind alone",
  __isoc99_fscanf = "ends what a killed command left, until there is nothing",
  getdelim = "reads by read, and allocates by realloc", getline = "as getdelim",
  nanosleep = "waits again where it was interrupted",
  eventfd_write = "waits for nobody: all that is ever written has room",
  eventfd_read = "reads what was written just before",
  fprintf = "words on standard error", fputs = "words on standard error",
  syscall = "by number: perf_event_open, pidfd_open, pidfd_send_signal as kill; futex and set_mempolicy are "
    .. "advice",
  exit = "ends", _exit = "ends", on_exit = "the first 32 of a process need no memory",
  -- What Lua could call and no module of ours does.
  system = "os.execute: by no module", tmpfile64 = "io.tmpfile: by no module",
  mkstemp64 = "os.tmpname: by no module",
  open64 = "LuaJIT's seed for its hashes: it has another", setlocale = "os.setlocale: by no module",
  chdir = "lfs: by no module", getcwd = "lfs: by no module", link = "lfs: by no module",
  symlink = "lfs: by no module",
  readlink = "a path beside the inode that files are told by",
  readlinkat = "of a link that openat has opened", fstatat = "what is opened is looked at by fstat",
  fstatfs = "no is an answer: then a link is followed as any other",
  ptrace = "a child that is refused is ended, and its run has no counts of calls (spec/counted_calls)",
  gethostname = "a part of a name that tells ranks apart: without it, their numbers do",
  sendfile = "a rank's marks, whose copy is checked: what is not whole is said (spec/launch)",
  rmdir = "lfs: by no module", unlink = "lfs: by no module",
  utime = "lfs: by no module", fcntl64 = "lfs.lock: by no module",
  -- LuaJIT's own memory: its compiled code does not outlive a refusal (2.1.0-beta3).
  mmap64 = "LuaJIT's memory", mremap = "LuaJIT's memory",
  sbrk = "libiberty's words on how much memory there was, as it ends for want of it",
  -- A character of text that fwrite has made room for.
  fputc = "as fwrite", putc = "as fwrite",
}

-- Neither asks the OS kernel nor allocates: patterns of names.
M.PURE = { "^str", "^mem", "^bcmp$", "^stp", "^is[a-z]+$", "^lua", "^_", "^pthread_mutex_", "^pthread_cond_",
  "^pthread_attr_destroy$", "^sig[a-z]+set$", "^sigabbrev_np$", "^posix_spawn.*_destroy$",
  "^posix_spawnattr_set", "^v?snprintf$", "^getenv$", "^environ$", "^std[a-z]+$", "^free$", "^fnmatch$",
  "^ferror$", "^feof$", "^bsearch$", "^atoi$", "^clearerr$", "^ungetc$", "^gmtime_r$", "^difftime$",
  "^a?cosh?$", "^a?sinh?$", "^a?tanh?$", "^atan2$", "^exp$", "^log1?[02]?$", "^pow$", "^sqrt$",
  "^fmod$", "^modf$", "^frexp$", "^ldexp$" }

--- Other names that libc has for a call.
M.SAME = { fopen64 = "fopen", stat64 = "stat", lstat64 = "lstat", readdir64 = "readdir",
  fseeko64 = "fseeko" }

--- Whether an imported name is dealt with: made to fail, left alone for a reason, or one that cannot fail.
---@param name string
---@param in_shim table<string, boolean> the calls that the shim knows
---@return boolean
function M.is_known(name, in_shim)
  if in_shim[M.SAME[name] or name] or M.LEFT[name] then return true end
  for _, pattern in ipairs(M.PURE) do
    if name:find(pattern) then return true end
  end
  return false
end

--- The calls that the shim knows, in its order.
---@return string[]
function M.names()
  local source, names = support.read(support.root .. "/tests/faults/shim.c"), {}
  for name in source:match "#define CALLS%(X%)(.-)\n\n":gmatch "X%(([%w_]+)%)" do names[#names + 1] = name end
  return names
end

return M
