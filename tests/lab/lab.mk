# What the lab builds besides pmclua itself; lab.sh reads it after the Makefile, with BUILD=build/arm64.

.PHONY: lab-programs lab-layer

# Programs and kernels of known length.
lab_programs := $(patsubst tests/lab/commands/%.S,$(BUILD)/lab/%,$(wildcard tests/lab/commands/*.S)) \
                $(patsubst tests/lab/kernels/%.S,$(BUILD)/lab/%.so,$(wildcard tests/lab/kernels/*.S)) \
                $(BUILD)/lab/caller
lab-programs: $(lab_programs)

$(BUILD)/lab/%: tests/lab/commands/%.S
	@mkdir -p $(@D)
	$(CC) -nostdlib -static -o $@ $<

$(BUILD)/lab/%.so: tests/lab/kernels/%.S
	@mkdir -p $(@D)
	$(CC) -nostdlib -shared -o $@ $<

# The guest's own compiler takes half a minute for it, which is translated first.
$(BUILD)/lab/caller: tests/fixtures/target/caller.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -o $@ $< -lpthread

# What is laid over the guest's root: build/ of this source tree, and pmclua in the PATH.
guest_build := $(BUILD)/layer$(CURDIR)/build
lab-layer: all lab-programs
	@mkdir -p $(guest_build) $(BUILD)/layer/usr/local/bin
	@cp -r $(addprefix $(BUILD)/,pmclua pmclua-runner libpmclua.so lua lab) $(guest_build)
	@ln -sf $(CURDIR)/build/pmclua $(BUILD)/layer/usr/local/bin/pmclua
