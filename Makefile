# pmclua. `make help` lists the targets.
#
# CROSS and SYSROOT build for another machine (as tests/lab does); BUILD is the folder for everything built.

VERSION := $(file <VERSION)
BUILD   ?= build
CROSS   ?=
SYSROOT ?=
PREFIX  ?= /usr/local

# Where it is installed. The core finds the rest by where it is itself: lua/pmclua/paths.lua.
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib/pmclua
LIBEXECDIR ?= $(PREFIX)/libexec/pmclua
INCLUDEDIR ?= $(PREFIX)/include
DATADIR    ?= $(PREFIX)/share/pmclua
LUADIR     ?= $(PREFIX)/share/lua/5.1
MANDIR     ?= $(PREFIX)/share/man/man1
PKGDIR     ?= $(PREFIX)/share/pkgconfig
DOCDIR     ?= $(PREFIX)/share/doc/pmclua
BASHDIR    ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR     ?= $(PREFIX)/share/zsh/site-functions
FISHDIR    ?= $(PREFIX)/share/fish/vendor_completions.d

CC      := $(CROSS)gcc
CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Werror
LUAJIT_INCLUDE ?= $(SYSROOT)/usr/include/luajit-2.1
# LuaJIT is linked in, whole, for modules in C need all of its API: a shared one adds 0.1 ms to each start.
# LUAJIT=-lluajit-5.1 links the shared one. libgcc_s adds 0.1 ms, too, but with -static-libgcc an exception of a
# module in C++ would meet two unwinders, and abort.
LUAJIT  ?= -Wl,--push-state,-Bstatic,--whole-archive -lluajit-5.1 -Wl,--pop-state
# -Wl,-E: the binding finds the core in the executable itself.
# libiberty demangles C++, Rust and D: 98 KB, and no library to load.
DEMANGLER ?= -Wl,--exclude-libs,libiberty.a -liberty
LIBS    ?= $(LUAJIT) $(DEMANGLER) -lm -ldl -lpthread
ALL_CFLAGS = $(CPPFLAGS) $(CFLAGS) $(WARN) -std=gnu11 -fPIC -fvisibility=default \
             -ffile-prefix-map=$(CURDIR)=. -Icore -I$(LUAJIT_INCLUDE) -MMD -MP

# core/'s folders: those that the core and the runner share, the core's own, the runner's. A file in one of them
# is built without being named here.
SHARED  := host counters message calls profile
CORE    := elf lines data
RUNNER  := runner runner/session runner/probing runner/launching runner/kernels
sources = $(sort $(wildcard $(1:%=core/%/*.c)))
objects = $(patsubst %.c,$(BUILD)/%.o,$1)

SCRIPTS := $(sort $(wildcard scripts/*.lua))
LUA := $(sort $(shell find lua/pmclua -name '*.lua'))

core_objects   := $(call objects,core/client.c core/pfm.c $(call sources,$(SHARED) $(CORE)))
runner_objects := $(call objects,$(call sources,$(RUNNER) $(SHARED)))

# One short line a file: $(call say,CC,core/main.c) before a command. V=1 shows the commands, -s nothing.
ifneq ($(filter-out 0,$(V))$(findstring s,$(firstword -$(MAKEFLAGS))),)
say =
else
say = @printf '  %-4s %s\n' $1 $2;
endif

.PHONY: all run test lint check-aa check-mutants check-faults check-fuzz check-soak check-cluster check-why check-bisect check-machines check-asan check-tsan check-valgrind check-contracts lab bench written check-install documents install uninstall dist deb clean help
all: $(BUILD)/pmclua $(BUILD)/pmclua-runner $(BUILD)/libpmclua.so $(BUILD)/pmclua-heap.so ## build ./pmclua
ifeq ($(BUILD),build)
all: pmclua

pmclua: $(BUILD)/pmclua
	@ln -sf $< $@
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

check-faults: all ## make every system call fail in every way; takes minutes
	@tests/packages build run test
	@./pmclua tests/faults/run.lua

check-fuzz: all ## run each fuzz target on mutated input for SECONDS=60
	@tests/packages build run test check
	@./pmclua tests/fuzz/run.lua $(or $(SECONDS),60)

check-aa: all ## compare equals of each kind of workload, quiet and beside three busy loops, EXPERIMENTS=200 of each
	@./pmclua tests/bench/aa.lua $(or $(EXPERIMENTS),200) 0
	@./pmclua tests/bench/aa.lua $(or $(EXPERIMENTS),200) 3

check-mutants: all ## exchange MUTANTS=100 tokens, drawn with SEED=1 from IN="lua/pmclua core": do specs notice?
	@tests/packages build run test
	@./pmclua tests/mutants/run.lua $(or $(MUTANTS),100) $(or $(SEED),1) $(IN)

check-cluster: all ## jobs under a real Slurm on this machine, with KILLS=100 kills; skipped where Slurm is not installed
	@tests/cluster/check $(or $(KILLS),100)

check-soak: all ## repeat operations a million times (SHARE=0.01 of that): memory, descriptors, speed; takes minutes
	@./pmclua tests/soak/run.lua $(or $(SHARE),1)
	@PMCLUA_TEST_KILLS=200 ./pmclua tests/support/specs.lua kills tests/spec/hostile_spec.lua --filter="at any moment"

check-why: all ## hold known pairs against each other: does why name what was planted? takes an hour (ROUNDS=20)
	@./pmclua tests/truths/why.lua $(or $(ROUNDS),20)
	@./pmclua tests/truths/why_times.lua $(or $(TRIES),200)

check-bisect: all ## play histories of commits to the search for a step: does it name the right one? HISTORIES=300 of each
	@./pmclua tests/truths/bisect.lua $(or $(HISTORIES),300)
	@./pmclua tests/truths/bisect_built.lua counts $(or $(BUILT),100)

check-machines: ## count programs by Valgrind on emulated x86-64 machines of several CPU models: are the counts equal?
	@tests/machines/check

check-asan: ## run specs under ASan and UBSan; also check-tsan, check-valgrind, check-contracts (annotations)
check-asan check-tsan check-valgrind check-contracts:
	@tests/packages build run test check
	@tests/check $(@:check-%=%) $(SPECS)

lab: ## open a prompt in an emulated machine that has a PMU
	@tests/packages build run lab
	@tests/lab/lab.sh

bench: all ## measure what pmclua itself costs, beside its peers (BENCH=--install installs them)
	@./pmclua tests/bench/run.lua $(BENCH)
	@./pmclua tests/bench/files.lua

$(BUILD)/pmclua: $(BUILD)/core/main.o $(BUILD)/embedded.o $(core_objects)
	$(call say,LD,$@)$(CC) $(CFLAGS) $(LDFLAGS) -Wl,-E -o $@ $^ $(LIBS)

# For `require "pmclua"` in a plain luajit.
$(BUILD)/libpmclua.so: $(core_objects)
	$(call say,LD,$@)$(CC) $(CFLAGS) $(LDFLAGS) -shared -o $@ $^ $(DEMANGLER) -ldl -lpthread

# One name alone: those of a kernel must not meet ours. Tests play an OS kernel through it.
$(BUILD)/pmclua-runner: $(runner_objects)
	$(call say,LD,$@)$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--export-dynamic-symbol=pmclua_system -o $@ $^ -ldl -lpthread

# Preloaded into what is run. Its unwinder is its own: a program may have another, or none.
$(BUILD)/pmclua-heap.so: core/heap/shim.c core/heap/heap.h Makefile
	$(call say,LD,$@)$(CC) $(CPPFLAGS) $(CFLAGS) $(WARN) -std=gnu11 -fPIC -fvisibility=hidden -fno-omit-frame-pointer \
	  -fno-optimize-sibling-calls -fno-builtin -ffile-prefix-map=$(CURDIR)=. -Icore/heap $(LDFLAGS) -shared -static-libgcc \
	  -o $@ $< -ldl -lpthread

$(BUILD)/core/%.o: core/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/core/host/host.o: ALL_CFLAGS += -DPMCLUA_VERSION='"$(VERSION)"'
$(BUILD)/core/host/host.o: VERSION
$(BUILD)/core/calls/call_names.o: ALL_CFLAGS += -I$(BUILD)
$(BUILD)/core/calls/call_names.o: $(BUILD)/call_names.inc
$(BUILD)/call_names.inc: Makefile
	@mkdir -p $(@D)
	$(call say,GEN,$@)echo '#include <asm/unistd.h>' | $(CC) $(CPPFLAGS) $(CFLAGS) -E -dM - | grep -v -w -e __NR_syscalls \
	  -e __NR_arch_specific_syscall | sed -n 's/^#define __NR_\([a-z][a-z0-9_]*\) .*/[__NR_\1] = "\1",/p' \
	  > $@.new && mv $@.new $@

API = core/pmclua.h core/pmclua_runner.h core/pmclua_calls.h core/pmclua_symbols.h
$(BUILD)/lua/pmclua/cdef.lua: core/cdef.lua $(API)
	@mkdir -p $(@D)
	$(call say,GEN,$@)luajit $^ > $@.new && mv $@.new $@

$(BUILD)/embedded.S: core/embed.lua core/bytecode.lua $(BUILD)/lua/pmclua/cdef.lua $(LUA) $(SCRIPTS)
	$(call say,GEN,$@)luajit core/embed.lua $(BUILD)/embedded.bytecode $(BUILD)/lua/pmclua/cdef.lua $(LUA) \
	  $(SCRIPTS) > $@.new && mv $@.new $@

$(BUILD)/embedded.o: $(BUILD)/embedded.S
	$(call say,CC,$<)$(CC) -c -o $@ $<

# Manual pages, pages of the book and completions, from what `--help` prints, and types for editors, from the table of
# signatures; NATIVE is a pmclua that runs here.
NATIVE ?= $(BUILD)/pmclua
written: all
	$(call say,GEN,$(BUILD)/documents)rm -rf $(BUILD)/documents && $(NATIVE) lua/install/write.lua scripts $(BUILD)/documents

# The book: Markdown files where they are, so that links between them hold on a forge as in the book; see doc/README.md.
PYTHON ?= /usr/bin/python3
PAGES := $(filter-out doc/README.md,$(sort $(wildcard doc/*.md))) SECURITY.md STABILITY.md CHANGELOG.md \
  CONTRIBUTING.md core/TRAPS.md lua/REFERENCE.md lua/EXTENDING.md lua/pmclua/report/READING.md scripts/CI.md \
  tests/TRUTHS.md $(wildcard scripts/paper/figures/*.svg) $(addsuffix /README.md,lua/pmclua/commits lua/pmclua/job \
    lua/pmclua/report lua/pmclua/store scripts scripts/marks scripts/paper tests tests/bench tests/lab)
$(BUILD)/book/index.html: $(PAGES) doc/conf.py doc/static/pmclua.css lua/install/markdown.lua $(LUA) $(SCRIPTS)
	@rm -rf $(BUILD)/book $(BUILD)/book.source $(BUILD)/book.trees && mkdir -p $(BUILD)/book.source
	@cp --parents $(PAGES) $(BUILD)/book.source && cp -R $(BUILD)/documents/commands $(BUILD)/book.source/doc
	$(call say,GEN,$(BUILD)/book)PYTHONHASHSEED=0 $(PYTHON) -m sphinx -q -W -c doc -d $(BUILD)/book.trees $(BUILD)/book.source $(BUILD)/book
	@sed -i 's|@import url(/javascript[^;]*;||' $(BUILD)/book/_static/styles/furo.css
	@echo '<meta http-equiv="refresh" content="0; url=doc/index.html">' > $@

documents: written ## write manual pages, completions and, where Sphinx is, the book into build/
	@if $(PYTHON) -c 'import furo, myst_parser' 2>/dev/null; then $(MAKE) --no-print-directory $(BUILD)/book/index.html; \
	  else rm -rf $(BUILD)/book; echo '  no book: it takes the Debian packages furo and python3-myst-parser'; fi

# What is installed: FILES to a FOLDER; a FILE under another PATH; FOLDERS with all that is in them.
put    = $(call say,PUT,'$(DESTDIR)$2/$(notdir $1)')install -d $(DESTDIR)$2 && install -m $3 $1 $(DESTDIR)$2
put_as = $(call say,PUT,$(DESTDIR)$2)install -D -m $3 $1 $(DESTDIR)$2
put_all = $(call say,PUT,'$(DESTDIR)$2/$(notdir $1)')install -d $(DESTDIR)$2 && cp -R $1 $(DESTDIR)$2 && \
  chmod -R u=rwX,go=rX $(addprefix $(DESTDIR)$2/,$(notdir $1))
install: documents ## install into PREFIX (/usr/local), under DESTDIR
	$(call put,$(BUILD)/pmclua,$(BINDIR),755)
	$(call put,$(BUILD)/pmclua-runner,$(LIBEXECDIR),755)
	$(call put,$(BUILD)/pmclua-heap.so,$(LIBEXECDIR),644)
	$(call put,$(BUILD)/libpmclua.so,$(LIBDIR),644)
	$(call put,$(addprefix core/,pmclua_kernel.h pmclua_mark.h pmclua_mark.f90),$(INCLUDEDIR),644)
	$(call put,$(BUILD)/documents/man/*.1,$(MANDIR),644)
	$(call put_as,$(BUILD)/documents/completions/pmclua.bash,$(BASHDIR)/pmclua,644)
	$(call put_as,$(BUILD)/documents/completions/pmclua.zsh,$(ZSHDIR)/_pmclua,644)
	$(call put,$(BUILD)/documents/completions/pmclua.fish,$(FISHDIR),644)
	$(call say,GEN,$(BUILD)/pmclua.pc)printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$(INCLUDEDIR)' \
	  'scripts=$(DATADIR)/scripts' '' 'Name: pmclua' \
	  'Description: headers of kernels and marks that pmclua measures' 'Version: $(VERSION)' \
	  'Cflags: -I$${includedir}' > $(BUILD)/pmclua.pc
	$(call put,$(BUILD)/pmclua.pc,$(PKGDIR),644)
	@rm -rf $(DESTDIR)$(DOCDIR)/html && install -d $(DESTDIR)$(DOCDIR)
	$(call say,PUT,$(DESTDIR)$(DOCDIR))cp --parents README.md $(PAGES) $(DESTDIR)$(DOCDIR)
	@[ ! -e $(BUILD)/book ] || cp -R $(BUILD)/book $(DESTDIR)$(DOCDIR)/html
	@chmod -R u=rwX,go=rX $(DESTDIR)$(DOCDIR)
	$(call put,$(BUILD)/documents/editor/pmclua.lua,$(DATADIR)/editor,644)
	$(call put_all,scripts,$(DATADIR))
	$(call put_all,lua/pmclua $(BUILD)/lua/pmclua,$(LUADIR))
	@chmod 755 $(DESTDIR)$(DATADIR)/scripts/*.lua

uninstall: ## undo install
	rm -rf $(addprefix $(DESTDIR),$(BINDIR)/pmclua $(LIBEXECDIR)/pmclua-runner $(LIBEXECDIR)/pmclua-heap.so $(LIBDIR)/libpmclua.so \
	  $(addprefix $(INCLUDEDIR)/,pmclua_kernel.h pmclua_mark.h pmclua_mark.f90) $(MANDIR)/pmclua.1 $(MANDIR)/pmclua-*.1 \
	  $(BASHDIR)/pmclua $(ZSHDIR)/_pmclua $(FISHDIR)/pmclua.fish $(PKGDIR)/pmclua.pc \
	  $(DATADIR)/scripts $(DATADIR)/editor $(LUADIR)/pmclua $(addprefix $(DOCDIR)/,README.md $(PAGES) html))
	@find $(DESTDIR)$(DOCDIR) -depth -type d -empty -delete 2>/dev/null || true
	rmdir $(addprefix $(DESTDIR),$(LIBEXECDIR) $(LIBDIR) $(DATADIR)) 2>/dev/null || true

# What git has of HEAD, whatever else lies in the folder: no file depends on who makes it, when and where.
NAME := pmclua-$(VERSION)
dist: ## make the tarball of HEAD's sources: build/pmclua-VERSION.tar.gz
	@mkdir -p $(BUILD)
	git -c tar.umask=0022 archive --format=tar --prefix=$(NAME)/ HEAD | gzip -9n > $(BUILD)/$(NAME).tar.gz

deb: ## make the Debian package of HEAD's sources, in build/deb; needs debhelper
	@tests/packages build run deb
	@$(MAKE) --no-print-directory dist
	rm -rf $(BUILD)/deb && mkdir $(BUILD)/deb && tar -xzf $(BUILD)/$(NAME).tar.gz -C $(BUILD)/deb
	cd $(BUILD)/deb/$(NAME) && dpkg-buildpackage -us -uc -b

check-install: ## build, install, upgrade and remove packages, rock and tarball in fresh Debian chroots; takes minutes, as root
	@tests/installation/check

clean: ## remove what was built
	rm -rf build pmclua

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.* ## /make \1 /p' Makefile | while read -r _ target text; do \
	  printf '  make %-12s %s\n' "$$target" "$$text"; done

-include $(patsubst %.o,%.d,$(BUILD)/core/main.o $(core_objects) $(runner_objects))
