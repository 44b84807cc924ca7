# pmclua. `make help` says what there is.
#
# CROSS and SYSROOT build for another machine (tests/lab does so); BUILD is where everything goes.

VERSION := 0.1.0
BUILD   ?= build
CROSS   ?=
SYSROOT ?=
PREFIX  ?= /usr/local

CC      := $(CROSS)gcc
CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Werror
LUAJIT_INCLUDE ?= $(SYSROOT)/usr/include/luajit-2.1
# -Wl,-E: the binding finds the core in the executable itself.
LIBS    ?= -lluajit-5.1 -ldl -lpthread
ALL_CFLAGS = $(CFLAGS) $(WARN) -std=gnu11 -fPIC -fvisibility=default -DPMCLUA_VERSION='"$(VERSION)"' \
             -Icore -I$(LUAJIT_INCLUDE) -MMD -MP

# Every file of core/ but main.c is the core's, or the runner's by its name.
SOURCES := $(notdir $(basename $(wildcard core/*.c)))
RUNNER  := $(filter runner% launch,$(SOURCES))
CORE    := $(filter-out main $(RUNNER),$(SOURCES))
# What the runner shares with the core.
SHARED  := attr system group region userread message cpulist host padding ring samples calls calls_threads calls_spreads

LUA := $(sort $(shell find lua/pmclua -name '*.lua'))

core_objects   := $(CORE:%=$(BUILD)/%.o)
runner_objects := $(RUNNER:%=$(BUILD)/%.o) $(SHARED:%=$(BUILD)/%.o)

.PHONY: all run test lint lab bench install uninstall clean help
all: $(BUILD)/pmclua $(BUILD)/pmclua-runner $(BUILD)/libpmclua.so ## build ./pmclua
ifeq ($(BUILD),build)
all: pmclua

pmclua: $(BUILD)/pmclua
	ln -sf $< $@
endif

run: ## install what is missing, build, run a first experiment
	@tests/packages build run
	@$(MAKE) --no-print-directory all
	./pmclua first

test: ## install what is missing, build, run all tests
	@tests/packages build run test lab
	@$(MAKE) --no-print-directory all
	@./pmclua tests/run.lua

lint: ## check the sources with luacheck, cppcheck, clang and others
	@tests/packages build lint
	@tests/lint

lab: ## a prompt in an emulated machine that has a PMU
	@tests/packages build run lab
	@tests/lab/lab.sh

bench: all ## what pmclua itself costs
	@./pmclua tests/bench/run.lua

$(BUILD)/pmclua: $(BUILD)/main.o $(BUILD)/embedded.o $(core_objects)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,-E -o $@ $^ $(LIBS)

# For `require "pmclua"` in a plain luajit.
$(BUILD)/libpmclua.so: $(core_objects)
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -o $@ $^ -ldl -lpthread

$(BUILD)/pmclua-runner: $(runner_objects)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -ldl -lpthread

$(BUILD)/%.o: core/%.c Makefile | $(BUILD)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/lua/pmclua/cdef.lua: core/pmclua.h
	mkdir -p $(@D)
	{ echo 'return [==['; sed -n '/FFI-BEGIN \*/,/FFI-END \*/p' $<; echo ']==]'; } > $@

$(BUILD)/embedded.S: core/embed.lua $(BUILD)/lua/pmclua/cdef.lua $(LUA)
	@luajit core/embed.lua $(BUILD)/embedded.bytecode $(BUILD)/lua/pmclua/cdef.lua $(LUA) > $@.new
	mv $@.new $@

$(BUILD)/embedded.o: $(BUILD)/embedded.S
	$(CC) -c -o $@ $<

$(BUILD):
	mkdir -p $@

install: all ## into PREFIX (/usr/local), under DESTDIR
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin lib libexec/pmclua include share/pmclua share/lua/5.1)
	install $(BUILD)/pmclua $(DESTDIR)$(PREFIX)/bin
	install $(BUILD)/pmclua-runner $(DESTDIR)$(PREFIX)/libexec/pmclua
	install -m 644 $(BUILD)/libpmclua.so $(DESTDIR)$(PREFIX)/lib
	install -m 644 core/pmclua_kernel.h $(DESTDIR)$(PREFIX)/include
	cp -r scripts $(DESTDIR)$(PREFIX)/share/pmclua
	cp -r lua/pmclua $(BUILD)/lua/pmclua $(DESTDIR)$(PREFIX)/share/lua/5.1

uninstall: ## undo install
	rm -rf $(addprefix $(DESTDIR)$(PREFIX)/,bin/pmclua lib/libpmclua.so libexec/pmclua \
	  include/pmclua_kernel.h share/pmclua share/lua/5.1/pmclua)

clean: ## remove what was built
	rm -rf build pmclua

help: ## this
	@sed -n 's/^\([a-z]*\):.* ## /make \1 /p' Makefile | while read -r _ target text; do \
	  printf '  make %-10s %s\n' "$$target" "$$text"; done

-include $(wildcard $(BUILD)/*.d)
