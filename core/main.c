/*
 * main.c: the executable: LuaJIT, the embedded modules, and pmclua.cli, which does the rest.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <luajit.h>
#include <lualib.h>

/* Made by embed.lua; sorted by name. */
struct embedded { const char *name, *source; uint64_t bytes; const char *bytecode; uint64_t bytecode_bytes; };
extern const struct embedded pmclua_embedded[];
extern const uint64_t pmclua_embedded_count;

enum { FAILED = 1, HEAP_KB = 16 * 1024, BLOCK_BYTES = 120 << 10, BLOCKS = 13 };

static int by_name(const void *name, const void *module)
{
    return strcmp(name, ((const struct embedded *)module)->name);
}

static const struct embedded *find_embedded(const char *name)
{
    return bsearch(name, pmclua_embedded, pmclua_embedded_count, sizeof *pmclua_embedded, by_name);
}

/* The rest of the bytes to compare; NULL: they differ. */
struct comparison { const char *rest; size_t bytes; };

static int compare(lua_State *L, const void *bytes, size_t count, void *data)
{
    (void)L;
    struct comparison *met = data;
    if (!met->rest || count > met->bytes || memcmp(met->rest, bytes, count) != 0) {
        met->rest = NULL;
        return 0;
    }
    met->rest += count;
    met->bytes -= count;
    return 0;
}

/* Whether this LuaJIT compiles the probe to the same bytes as the one that made our bytecode. */
static int is_same_compiler(lua_State *L)
{
    static int known = -1;
    if (known >= 0)
        return known;
    const struct embedded *probe = find_embedded("probe");
    struct comparison met = { probe->bytecode, probe->bytecode_bytes };
    lua_getglobal(L, "jit");
    lua_getfield(L, -1, "version");
    lua_pushfstring(L, "=%s", lua_tostring(L, -1));
    known = luaL_loadbuffer(L, probe->source, probe->bytes, lua_tostring(L, -1)) == 0
            && lua_dump(L, compare, &met) == 0 && met.rest && met.bytes == 0;
    lua_pop(L, 4);
    return known;
}

static int load_embedded(lua_State *L, const char *name, const struct embedded *module)
{
    char chunk[256];
    snprintf(chunk, sizeof chunk, "@%s", name);
    if (is_same_compiler(L) && luaL_loadbuffer(L, module->bytecode, module->bytecode_bytes, chunk) == 0)
        return 1;
    if (luaL_loadbuffer(L, module->source, module->bytes, chunk) != 0)
        return lua_error(L);
    return 1;
}

/* The chunk of a module's file in `folder`: FOLDER/A/B.lua or FOLDER/A/B/init.lua for "A.B"; 0: none is there. */
static int load_file(lua_State *L, const char *folder, const char *name)
{
    static const char *const ends[] = { ".lua", "/init.lua" };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *stem = luaL_gsub(L, name, ".", "/");
        const char *path = lua_pushfstring(L, "%s/%s%s", folder, stem, ends[i]);
        if (access(path, R_OK) == 0)
            return luaL_loadfile(L, path) == 0 ? 1 : lua_error(L);
    }
    return 0;
}

/* All of pmclua's modules but the declaration of the C interface, which must be this core's. */
static int is_replaceable(const char *name)
{
    int is_own = strcmp(name, "pmclua") == 0 || strncmp(name, "pmclua.", 7) == 0;
    return is_own && strcmp(name, "pmclua.cdef") != 0;
}

/* package.loaders entry: pmclua's modules from PMCLUA_LIB (for development), else from the executable. */
static int search(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    const struct embedded *module = find_embedded(name);
    const char *folder = getenv("PMCLUA_LIB");
    if (folder && *folder && is_replaceable(name) && load_file(L, folder, name))
        return 1;
    return module ? load_embedded(L, name, module) : 0;
}

/* pmclua.embedded.script(text): the chunk of the embedded script with this text; nil: none has it. */
static int load_script(lua_State *L)
{
    size_t bytes;
    const char *text = luaL_checklstring(L, 1, &bytes);
    for (uint64_t i = 0; i < pmclua_embedded_count; i++) {
        const struct embedded *script = &pmclua_embedded[i];
        if (strncmp(script->name, "scripts/", 8) == 0 && script->bytes == bytes
            && memcmp(script->source, text, bytes) == 0 && is_same_compiler(L)
            && luaL_loadbuffer(L, script->bytecode, script->bytecode_bytes, script->name) == 0)
            return 1;
    }
    return 0;
}

static int open_embedded(lua_State *L)
{
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, load_script);
    lua_setfield(L, -2, "script");
    return 1;
}

/* LuaJIT before April 2022, Debian 12's too, may end a compiled next() with an exchange of registers that cuts a pointer
 * to 32 bits: SIGSEGV, once in some 100,000 calls of ours (github.com/LuaJIT/LuaJIT/issues/829). Which registers a loop
 * has left decides, which nothing in Lua does. Functions in C are not compiled. */
enum { HAS_UNSAFE_NEXT = LUAJIT_VERSION_NUM < 20199 && sizeof(void *) == 8 };

static int next(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    if (lua_next(L, 1))
        return 2;
    lua_pushnil(L);
    return 1;
}

static int pairs(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}

static void replace_next(lua_State *L)
{
    lua_pushcfunction(L, next);
    lua_pushvalue(L, -1);
    lua_setglobal(L, "next");
    lua_pushcclosure(L, pairs, 1);
    lua_setglobal(L, "pairs");
}

/* The libraries, with package.path and package.cpath as LuaJIT was built: what LUA_PATH and LUA_CPATH say is for
 * lua/pmclua/cli/modules.lua to judge. */
static void open_standard(lua_State *L)
{
    lua_pushboolean(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
    luaL_openlibs(L);
    if (HAS_UNSAFE_NEXT)
        replace_next(L);
}

static void push_arguments(lua_State *L, int argc, char **argv)
{
    lua_createtable(L, argc, 1);
    for (int i = 0; i < argc; i++) {
        lua_pushstring(L, argv[i]);
        lua_rawseti(L, -2, i);
    }
}

/* Puts `search` before package.preload's loader, which asks the dynamic linker for each name. */
static const char load_cli[] = "local search, open_embedded = ...\n"
                               "package.preload['pmclua.embedded'] = open_embedded\n"
                               "table.insert(package.loaders, 1, search)\n"
                               "return require('pmclua.cli').main";

/* Runs pmclua.cli's main(arguments); its result is the exit status. Protected. */
static int run(lua_State *L)
{
    open_standard(L);
    if (luaL_loadbuffer(L, load_cli, sizeof load_cli - 1, "=pmclua") != 0)
        lua_error(L);
    lua_pushcfunction(L, search);
    lua_pushcfunction(L, open_embedded);
    lua_call(L, 2, 1);
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    return 1;
}

/* Nothing is collected before the heap has grown to some 16 MB: a short run ends before that, and would
 * spend a tenth of its time on it. LuaJIT takes -1 to mean: go on when it has grown by the pause. */
static void delay_collector(lua_State *L)
{
    int pause = lua_gc(L, LUA_GCSETPAUSE, (int)(HEAP_KB * 100 / lua_gc(L, LUA_GCCOUNT, 0)));
    lua_gc(L, LUA_GCRESTART, -1);
    lua_gc(L, LUA_GCSETPAUSE, pause);
}

/* A script needs about 1.5 MB: taken page by page, each with a fault, that is a quarter of the time of a short
 * run. The blocks are small enough to stay in LuaJIT's heap when they are given back. Where the OS kernel is
 * older than 5.14, or memory short, pages come when they are used. */
static void prepare_heap(lua_State *L)
{
    void *owner, *block[BLOCKS];
    lua_Alloc allocate = lua_getallocf(L, &owner);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = allocate(owner, NULL, 0, BLOCK_BYTES);
        uintptr_t start = ((uintptr_t)block[i] + page - 1) & -page;
        if (block[i])
            madvise((void *)start, ((uintptr_t)block[i] + BLOCK_BYTES - start) & -page, MADV_POPULATE_WRITE);
    }
    for (int i = 0; i < BLOCKS; i++)
        if (block[i])
            allocate(owner, block[i], BLOCK_BYTES, 0);
}

/* A closed standard descriptor must not become that of a file, in which messages would land: /dev/null takes its place,
 * opened so that it also refuses what the descriptor is for. */
static void hold_standard(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
            return;
}

/* Lost output is a failure, also where a script ended the process by os.exit. */
static void check_output(int status, void *unused)
{
    (void)unused;
    int is_whole = fflush(stdout) == 0 && !ferror(stdout);
    if (is_whole || status != 0)
        return;
    fputs("pmclua: standard output could not be written\n", stderr);
    fflush(NULL);                      /* the script's other files are whole */
    _exit(FAILED);
}

/* -1: Lua goes on. */
static int end_status = -1;

static int end_process(lua_State *L)
{
    (void)L;
    if (end_status >= 0)
        exit(end_status);
    return 0;
}

/* Finalizers run from the newest to the oldest: this one is the last. What others make has none any more. Memory goes
 * with the process; giving it back piece by piece would take a tenth of a short run. */
static void end_by_finalizer(lua_State *L)
{
    lua_newuserdata(L, 0);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, end_process);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    luaL_ref(L, LUA_REGISTRYINDEX);
}

int main(int argc, char **argv)
{
    hold_standard();
    signal(SIGCHLD, SIG_DFL);          /* where our parent ignores it, no child would tell how it ended */
    on_exit(check_output, NULL);
    lua_State *L = luaL_newstate();
    if (!L) {
        fputs("pmclua: no memory for LuaJIT\n", stderr);
        return FAILED;
    }
    if (argc > 1 && argv[1][0] != '-')
        prepare_heap(L);
    end_by_finalizer(L);
    delay_collector(L);
    lua_pushcfunction(L, run);
    push_arguments(L, argc, argv);
    int status = FAILED;
    if (lua_pcall(L, 1, 1, 0) != 0) {
        const char *message = lua_tostring(L, -1);
        fprintf(stderr, "pmclua: %s\n", message ? message : "an error that is no text");
    } else {
        status = (int)lua_tointeger(L, -1);
    }
    end_status = status;
    lua_close(L);
    return status;
}
