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

CORE   := attr system group host cpulist message client record $(if $(wildcard core/pfm.c),pfm)
RUNNER := runner runner_events runner_command runner_crew runner_kernel launch
# What the runner shares with the core.
SHARED := attr system group message cpulist host

LUA := $(sort $(shell find lua/pmclua -name '*.lua'))

core_objects   := $(CORE:%=$(BUILD)/%.o)
runner_objects := $(RUNNER:%=$(BUILD)/%.o) $(SHARED:%=$(BUILD)/%.o)

.PHONY: all run test lint lab bench clean help install
all: $(BUILD)/pmclua $(BUILD)/pmclua-runner $(BUILD)/libpmclua.so
ifeq ($(BUILD),build)
all: pmclua

pmclua: $(BUILD)/pmclua
	ln -sf $< $@
endif

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
	{ echo 'return [==['; sed -n '/FFI-BEGIN/,/FFI-END/p' $<; echo ']==]'; } > $@

$(BUILD)/embedded.S: core/embed.lua $(BUILD)/lua/pmclua/cdef.lua $(LUA)
	luajit core/embed.lua $(BUILD)/lua/pmclua/cdef.lua $(LUA) > $@

$(BUILD)/embedded.o: $(BUILD)/embedded.S
	$(CC) -c -o $@ $<

$(BUILD):
	mkdir -p $@

clean:
	rm -rf build pmclua

-include $(wildcard $(BUILD)/*.d)
