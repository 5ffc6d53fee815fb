# sandstorm-mcp: `make` builds out/sandstorm-mcp, `make test` tests it, `make help` lists the rest.
# Settings: on the command line, in the environment or in a file config.mak beside this one.
#   TARGET              name of the target, also the folder below build/; default: this machine. Rows of scripts/targets
#                       bring what they need; for others:
#   CC, CROSS_COMPILE   the compiler, or the prefix of a cross compiler's tools (aarch64-linux-gnu-)
#   TARGET_CFLAGS       what the target needs besides (-march=..., -msoft-float), for the libraries too
#   CFLAGS              optimisation, default -Oz          V=1  show the commands
#   LTO                 how gcc optimises src/ as a whole; empty for compilers that cannot
#   CA                  PEM file with the CA of the Sandstorm master, to be compiled in; SANDSTORM_CA replaces it at run time
-include config.mak

ifneq ($(words $(CURDIR)),1)
$(error the path of this folder has a space in it, which make cannot handle: $(CURDIR))
endif
HOST := $(shell uname -m)
TARGET ?= $(HOST)
# the row of scripts/targets, where its columns are explained; what is set by hand goes first
ROW := $(shell sed -n 's/^$(TARGET)  *//p' scripts/targets)
TARGETS := $(shell sed -n 's/^\([a-z0-9_]*\) .*/\1/p' scripts/targets)
ifneq ($(TARGET),$(HOST))
CROSS_COMPILE ?= $(or $(word 1,$(ROW)),$(error no target $(TARGET) in scripts/targets, which has: $(TARGETS)))
endif
TARGET_CFLAGS ?= $(filter-out -,$(word 6,$(ROW)))
OUR_CFLAGS ?= $(filter-out -,$(word 7,$(ROW)))
LINKER ?= $(or $(word 2,$(ROW)),bfd)
FLOAT := $(or $(word 3,$(ROW)),hard)
ifeq ($(origin CC),default)
CC = $(CROSS_COMPILE)gcc
endif
ifeq ($(origin AR),default)
AR = $(CROSS_COMPILE)ar
endif
RANLIB ?= $(CROSS_COMPILE)ranlib
STRIP ?= $(CROSS_COMPILE)strip
OBJCOPY ?= $(CROSS_COMPILE)objcopy
OBJDUMP ?= $(CROSS_COMPILE)objdump
CFLAGS ?= -Oz
LTO ?= -flto -flto-partition=none
HOST_CC ?= gcc
FUZZ_CC ?= clang
FUZZ_SECONDS ?= 20
SIZE_LIMIT ?= $(or $(word 4,$(ROW)),500000)
PREFIX ?= /usr/local
PYTHON ?= python3
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif
MAKEFLAGS += --no-builtin-rules --no-print-directory
export LC_ALL = C.UTF-8
Q = $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' '$1' '$2')

B := build/$(TARGET)
BIN := out/sandstorm-mcp$(if $(filter-out $(HOST),$(TARGET)),-$(TARGET))
SRC := $(sort $(wildcard src/*.c src/*/*.c))
UNITS := $(sort $(wildcard tests/unit/test_*.c))
FUZZERS := $(sort $(wildcard tests/fuzz/fuzz_*.c))
VENDORED := vendor/bearssl/.tree vendor/musl/.tree vendor/jsmn/.tree
objects = $(SRC:src/%.c=$1/%.o)

# ---- flags

WARN := -Wall -Wextra -Wshadow -Wconversion -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 \
	-Wno-missing-field-initializers
OURS = -std=c11 -D_GNU_SOURCE $(WARN) -iquote src -isystem vendor/jsmn -isystem vendor/bearssl/inc
PATHS = -ffile-prefix-map=$(CURDIR)/=
SMALL = $(CFLAGS) $(TARGET_CFLAGS) -fPIE -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fno-unwind-tables
MUSL_ONLY = -nostdinc -isystem $(CURDIR)/$B/musl/include -isystem $(shell $1 -print-file-name=include)
# a call at a function's end costs less than taking its frame down twice: 1 %; a value kept in a register over calls or over a
# loop costs more moves than it saves: 0.6 %
SHORTER := -fno-optimize-sibling-calls -fno-caller-saves -fno-move-loop-invariants
PRODUCT = $(SMALL) $(OUR_CFLAGS) $(SHORTER) -fstack-protector-strong $(FRAME) $(OURS) $(PATHS) $(call MUSL_ONLY,$1)
FRAME := -Wframe-larger-than=16384
SANITIZE := -g -fno-omit-frame-pointer -fno-sanitize-recover=all
LINK = -nostdlib -static-pie -Wl,--no-dynamic-linker,--version-script=scripts/no-exports -Wl,--gc-sections -Wl,--build-id=none \
	-Wl,--fatal-warnings -Wl,-z,relro,-z,now,-z,noexecstack,-z,noseparate-code
LLD := $(filter lld%,$(LINKER))
ifneq ($(LLD),)
LINK += -fuse-ld=lld -B$B/lld -Wl,--pack-dyn-relocs=relr,-O2	# O2: the end of one string may be another
else ifeq ($(TARGET),x86_64)
LINK += -Wl,-z,pack-relative-relocs	# 8 KB less; binutils has it for x86_64 alone
TARGET_CFLAGS += -mstack-protector-guard=global	# as on every other machine: shorter by 2 KB than a segment's
TARGET_CFLAGS += -malign-data=abi	# tables need no cache line of their own: 2 KB less
endif

# how src/ is compiled: for the product, once more with clang, for unit tests, for fuzzers
# objects carry both: LTO for the product (3 to 6 % less), plain code for what looks at them one by one or replaces some
COMPILE.obj = $(CC) $(call PRODUCT,$(CC)) $(if $(LTO),$(LTO) -ffat-lto-objects)
COMPILE.check-clang = clang $(filter-out -malign-data=abi $(SHORTER),$(call PRODUCT,clang))
COMPILE.unit = $(HOST_CC) -O0 $(OURS) $(SANITIZE) -fsanitize=address,undefined
COMPILE.fuzz = $(FUZZ_CC) -O1 $(OURS) $(SANITIZE) -fsanitize=address,undefined,fuzzer-no-link

.PHONY: all targets platforms run help vendor need-build fixtures test check unit fuzz-programs fuzz build-tests e2e interop interop-table pages size fmt docs dist image-files \
	release install install-bin install-share clean distclean FORCE
.DELETE_ON_ERROR:
all: $(BIN)

help:
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

# ---- third-party sources and the libraries made of them

vendor: ## fetch the third-party sources named in vendor/manifest
	$Qscripts/need vendor
	$Qvendor/fetch
# a stamp apart from the trees' own: a look at them that changes nothing makes nothing out of date
vendor/.fetched: vendor/manifest vendor/fetch $(if $(filter-out $(wildcard $(VENDORED)),$(VENDORED)),FORCE) | need-build
	$Qvendor/fetch && touch $@
$(VENDORED): vendor/.fetched
	@:
need-build:
	@CC='$(CC)' LINKER='$(LINKER)' scripts/need build

# a file that changes when what is written into it does: for rules that depend on settings. Where this folder lies is none: it
# gets into no result.
define settings
$1: FORCE
	@mkdir -p $$(@D); printf '%s\n' '$$(subst $(CURDIR)/,,$$($2))' | cmp -s - $$@ || printf '%s\n' '$$(subst $(CURDIR)/,,$$($2))' > $$@
endef
LIB_SETTINGS = $(CC) $(SMALL)
$(eval $(call settings,$B/.settings,LIB_SETTINGS))
$B/.settings: | need-build

MUSL := $B/musl/lib/libc.a
$(MUSL): vendor/musl/.tree scripts/build-musl $B/.settings
	$(call say,MUSL,$B/musl)
	$Qrm -rf $B/musl && CC='$(CC)' AR='$(AR)' RANLIB='$(RANLIB)' CFLAGS='$(SMALL) $(PATHS)' scripts/build-musl vendor/musl $B/musl
$B/libbearssl.a: vendor/bearssl/.tree scripts/build-bearssl $(MUSL)
	$(call say,BEARSSL,$@)
	$QCC='$(CC)' AR='$(AR)' CFLAGS='$(SMALL) -fstack-protector $(PATHS) $(call MUSL_ONLY,$(CC))' \
		scripts/build-bearssl vendor/bearssl $B/libbearssl

# for programs that run on this machine, with its libc: unit tests, fuzzers, check-ca
HOST_SETTINGS = $(HOST_CC)
$(eval $(call settings,build/host/.settings,HOST_SETTINGS))
build/host/libbearssl.a: vendor/bearssl/.tree scripts/build-bearssl build/host/.settings
	$(call say,BEARSSL,$@)
	$QCC='$(HOST_CC)' AR=ar CFLAGS='-O1 -g -fPIE' scripts/build-bearssl vendor/bearssl build/host/libbearssl

# ---- our sources, and the binary

# What the compiler says is shown and kept beside the object, for `make check`: a warning is an error there, and stops nobody
# who builds with a newer compiler.
define compiled
$(call settings,$2/.settings,COMPILE.$1)
$2/%.o: src/%.c $2/.settings | $3
	$$(call say,CC,$$@)
	$$Qmkdir -p $$(@D) && { $$(COMPILE.$1) $$(DEFINE) -MMD -MP -c -o $$@ $$< 2> $$(@:.o=.said); code=$$$$?; cat $$(@:.o=.said) >&2; exit $$$$code; }
$2/.settings: | need-build
endef
$(eval $(call compiled,obj,$B/obj,$(MUSL) $(VENDORED)))
$(eval $(call compiled,check-clang,$B/check-clang,$(MUSL) $(VENDORED)))
$(eval $(call compiled,unit,build/unit/src,$(VENDORED)))
$(eval $(call compiled,fuzz,build/fuzz/src,$(VENDORED)))
-include $(filter-out build/share/%,$(wildcard build/*/*.d build/*/*/*.d build/*/*/*/*.d))

# the anchors of CA=file, read and refused by the program's own sources
CHECK_CA_SRC := scripts/check-ca.c $(addprefix src/tls/,pem.c roots.c cert.c cert_key.c der.c) \
	$(addprefix src/base/,base64.c buf.c clock.c file.c fmt.c random.c secret.c str.c utf8.c)
build/host/check-ca: $(CHECK_CA_SRC) $(wildcard src/tls/*.h src/base/*.h) src/bounds.h build/host/.settings
	$(call say,CC,$@)
	@CC='$(HOST_CC)' scripts/need host
	$Q$(HOST_CC) $(OURS) -O1 -o $@ $(CHECK_CA_SRC)
$B/ca.rows: build/host/check-ca $B/.ca $(or $(wildcard $(CA)),FORCE)
	$(call say,CA,$(CA))
	$Qbuild/host/check-ca '$(CA)' > $@
$(eval $(call settings,$B/.ca,CA))
$B/obj/tls/builtin.o: $B/.ca $(if $(CA),$B/ca.rows)
$B/obj/tls/builtin.o: DEFINE = $(if $(CA),-DBUILTIN_CA='"$(CURDIR)/$B/ca.rows"')

# libgcc without what would only be in the way: tables for unwinding, which lld relocates wrongly on MIPS, and MIPS' note that
# it is made for floating point; the helpers we use have none, as check-float sees in the linked binary
$B/libgcc.a: $B/.settings | $(MUSL)
	$Q$(OBJCOPY) -R .eh_frame -R .rel.eh_frame -R .gnu.attributes -R .MIPS.abiflags "$$($(CC) $(TARGET_CFLAGS) -print-libgcc-file-name)" $@
$B/lld/ld.lld: | need-build
	$Qmkdir -p $(@D) && ln -sf "$$(command -v ld.$(LINKER) || command -v ld.lld)" $@	# a cross compiler looks for it in folders of its own alone

LIBS := $B/libbearssl.a $(MUSL) $B/libgcc.a
link = $(CC) $(SMALL) $(LINK) $(LINK_MORE) -o $@ $B/musl/lib/rcrt1.o $B/musl/lib/crti.o $(filter %.o,$^) \
	$(LIBS) $(MUSL) $B/musl/lib/crtn.o
# src/ as one object in which nothing but main is seen from outside. gcc makes it without the linker's help, so either linker can
# go on. BearSSL stays out of LTO: it takes the same time whatever the secrets only as it was written, piece by piece.
$B/whole.o: $(call objects,$B/obj) $B/.link
	$(call say,LTO,$@)
	$Q$(CC) $(SMALL) $(OUR_CFLAGS) $(LTO) -Werror $(FRAME) -fno-use-linker-plugin -fwhole-program -flinker-output=pie -r -nostdlib \
		-o $@ $(filter %.o,$^)
$B/sandstorm-mcp.unstripped: LINK_MORE = -Wl,-Map=$B/link.map
$B/sandstorm-mcp.unstripped: $(if $(LTO),$B/whole.o,$(call objects,$B/obj)) $(LIBS) scripts/no-exports scripts/check-static \
		scripts/check-float $B/.link | $(if $(LLD),$B/lld/ld.lld)
	$(call say,LINK,$@)
	$Q$(link)
	$Qscripts/check-static $@ && scripts/check-float $(OBJDUMP) $(FLOAT) $@
LINK_SETTINGS = $(LINK) $(LTO)
$(eval $(call settings,$B/.link,LINK_SETTINGS))
$(BIN): $B/sandstorm-mcp.unstripped
	$(call say,STRIP,$@)
	$Qmkdir -p $(@D) && $(STRIP) -s -R .comment -R .pdr -R .gnu.attributes -R .riscv.attributes -o $@.new $< && mv $@.new $@

# the same objects with the conformance suite's own tools put before them (tests/fixture): for `make interop`, never shipped
$B/fixture/%.o: tests/fixture/%.c $B/obj/.settings | $(MUSL) $(VENDORED)
	$(call say,CC,$@)
	$Qmkdir -p $(@D) && $(COMPILE.obj) -Werror -MMD -MP -c -o $@ $<
fixtures: $B/sandstorm-mcp-fixtures
$B/sandstorm-mcp-fixtures: LINK_MORE = -fno-lto -Wl,--wrap=tools_choose,--wrap=schema_put_input,--wrap=http_head_parse
$B/sandstorm-mcp-fixtures: $(patsubst tests/%.c,$B/%.o,$(sort $(wildcard tests/fixture/*.c))) $(call objects,$B/obj) \
		$(LIBS) | $(if $(LLD),$B/lld/ld.lld)
	$(call say,LINK,$@)
	$Q$(link)

# ---- every target

targets: ## a binary for each row of scripts/targets (out/sandstorm-mcp-TARGET), and their sizes
	@scripts/need vendor targets
	@$(MAKE) vendor/.fetched $(if $(CA),build/host/check-ca)
	@$(MAKE) $(TARGETS:%=target-%)
	@scripts/sizes
target-%: FORCE
	@$(MAKE) TARGET=$*
	@[ '$*' != '$(HOST)' ] || ln -f out/sandstorm-mcp out/sandstorm-mcp-$*

# ---- tests

test: ## all but fuzzing, from a bare Debian: installs what the tests need first
	@scripts/need test
	@$(MAKE) all
	@$(MAKE) check
	@$(MAKE) unit
	@$(MAKE) build-tests
	@$(MAKE) e2e

CHECKS := $(call objects,$B/obj) $(if $(shell command -v clang),$(if $(filter $(HOST),$(TARGET)),$(call objects,$B/check-clang)))
check: $(CHECKS) ## layer order, warnings as errors (gcc, clang), clang-format, cppcheck
	@cat $(CHECKS:.o=.said) > $B/said && ! grep '' $B/said || { echo "check: a compiler has something to say" >&2; exit 1; }
	@scripts/layers src
	@scripts/lint src

# programs of tests/$1, linked with all of src/ but main, and with what compiles src/ for them
define programs
build/$1/libsrc.a: $$(filter-out %/src/main.o,$$(call objects,build/$1/src))
	$$Qrm -f $$@ && ar qcs $$@ $$^
build/$1/$2_%: tests/$1/$2_%.c build/$1/libsrc.a build/host/libbearssl.a $$(wildcard tests/$1/*.h)
	$$(call say,LINK,$$@)
	$$Q$$(COMPILE.$1) $3 -Itests/$1 -o $$@ $$< build/$1/libsrc.a build/host/libbearssl.a $4
endef
$(eval $(call programs,unit,test,,-lcmocka))
$(eval $(call programs,fuzz,fuzz,-fsanitize=fuzzer))

unit: $(UNITS:tests/%.c=build/%) ## unit tests, on the host's libc with ASan and UBSan
	@scripts/run-unit $^
fuzz-programs: $(FUZZERS:tests/%.c=build/%)
fuzz: ## every fuzz harness for FUZZ_SECONDS, default 20
	@scripts/need fuzz
	@$(MAKE) fuzz-programs
	@scripts/run-fuzz $(FUZZ_SECONDS) $(FUZZERS:tests/%.c=build/%)

build/venv/.ready: tests/requirements.txt
	$(call say,VENV,build/venv)
	$Qrm -rf build/venv && $(PYTHON) -m venv build/venv && build/venv/bin/pip install -q --disable-pip-version-check -r $< && touch $@
# the folder of a test that passed goes at once: a run makes 200,000 files, which would be deleted some runs later, all at a time
PYTEST = TARGET=$(TARGET) SANDSTORM_BIN=$(CURDIR)/$(BIN) build/venv/bin/pytest --rootdir=. -o cache_dir=build/pytest \
	-o tmp_path_retention_policy=failed -q $(PYTEST_ARGS)
build-tests: $(BIN) $B/sandstorm-mcp.apart build/venv/.ready ## tests of vendoring, the binary, reproducibility, the tarballs, the generated docs
	@scripts/need $(if $(filter 1,$(SANDSTORM_LONG_TESTS)),release shells,release)
	$Q$(PYTEST) -n 2 tests/build
# what a client notices of 10,000 others is measured with nothing beside it
e2e: $(BIN) build/venv/.ready ## tests that talk to the real binary; they wait more than they work, so four at once
	$Q$(if $(filter 1,$(SANDSTORM_LONG_TESTS)),$(PYTEST) tests/e2e/test_attack.py)
	$Q$(PYTEST) -n $(if $(filter 1,$(SANDSTORM_LONG_TESTS)),6 --ignore tests/e2e/test_attack.py,4) --dist worksteal tests/e2e

# clients of others, as pinned by lock files; what is built is built for speed of building
build/interop/.ready: $(addprefix tests/interop/,package.json package-lock.json)
	$(call say,NPM,build/interop)
	$Qscripts/need interop
	$Qmkdir -p $(@D) && cp $^ $(@D) && cd $(@D) && npm install --no-audit --no-fund --loglevel=error && touch .ready
build/interop/python-1/.ready: tests/interop/python-1.txt
	$(call say,VENV,$(@D))
	$Qrm -rf $(@D) && $(PYTHON) -m venv $(@D) && $(@D)/bin/pip install -q --disable-pip-version-check -r $< && touch $@
build/interop/go/client: $(addprefix tests/interop/go/,main.go go.mod go.sum) scripts/go
	$(call say,GO,$@)
	$Qscripts/go build -C tests/interop/go -o $(CURDIR)/$@ .
build/interop/rust/debug/interop: $(addprefix tests/interop/rust/,main.rs Cargo.toml Cargo.lock)
	$(call say,CARGO,$@)
	$Qcd tests/interop/rust && MAKEFLAGS= cargo build -q --locked --target-dir $(CURDIR)/build/interop/rust
	@touch $@
CLIENTS := $(addprefix build/interop/,.ready python-1/.ready go/client rust/debug/interop)
interop: ## clients of others, proxies and the conformance suite against the real binary; the README's table of them
	@scripts/need test interop servers
	@$(MAKE) $(BIN) fixtures build/venv/.ready $(CLIENTS)
	@rm -rf build/interop/results
	$Q$(PYTEST) -n 2 tests/interop --ignore tests/interop/test_pages.py --ignore tests/interop/test_table.py
	$Q$(PYTEST) tests/interop/test_table.py
interop-table: ## write that table anew from what the last `make interop` has seen
	@scripts/interop-table --write build/interop/results README.md
pages: $(BIN) build/venv/.ready build/interop/.ready ## the pages in Chromium: screenshots in build/pages, accessibility, keyboard
	$Qscripts/need pages
	$Q$(PYTEST) tests/interop/test_pages.py

platforms: build/venv/.ready ## every target in an emulator, the image, as PID 1, as on a router, installed and upgraded
	@scripts/need platforms
	@$(MAKE) targets
	@$(MAKE) $(SHARE)
	$Q$(PYTEST) -n 2 tests/platforms

# ---- the rest

size: $(BIN) $B/sandstorm-mcp.apart ## text, data and bss of each room and library, linked apart
	@scripts/size $B/rooms.map $(BIN) $(SIZE_LIMIT)
# LTO leaves no trace of the rooms, so the map for `make size` is that of a link without it
$B/sandstorm-mcp.apart: LINK_MORE = -fno-lto -Wl,-Map=$B/rooms.map
$B/sandstorm-mcp.apart: $(call objects,$B/obj) $(LIBS) | $(if $(LLD),$B/lld/ld.lld)
	$(call say,LINK,$@)
	$Q$(link)
fmt: ## format our C sources
	clang-format -i $(wildcard src/*.[ch] src/*/*.[ch] tests/unit/*.[ch] tests/fuzz/*.[ch] tests/fixture/*.[ch])
docs: $(BIN) ## write the generated tables of README.md anew; that of sizes when all targets are built
	@scripts/tool-docs --write $(BIN) README.md
	@scripts/sizes --write README.md
dist: $(VENDORED) ## source tarball with the third-party sources: builds offline, the same bytes each time
	@scripts/need dist
	@scripts/dist out

# The manual page and the completions are made of what the binary says, so for another machine one is built for this one.
NATIVE := out/sandstorm-mcp
ifneq ($(BIN),$(NATIVE))
$(NATIVE): FORCE
	$Qenv $(foreach v,MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL TARGET CC CROSS_COMPILE TARGET_CFLAGS AR RANLIB STRIP CFLAGS,-u $v) $(MAKE)
endif
MAN := build/share/man/man1/sandstorm-mcp.1
BASH_COMPLETION := build/share/bash-completion/completions/sandstorm-mcp
ZSH_COMPLETION := build/share/zsh/site-functions/_sandstorm-mcp
FISH_COMPLETION := build/share/fish/vendor_completions.d/sandstorm-mcp.fish
SHARE := $(MAN) $(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION)
$(MAN): COMMAND = scripts/man-page
$(BASH_COMPLETION): COMMAND = scripts/completions bash
$(ZSH_COMPLETION): COMMAND = scripts/completions zsh
$(FISH_COMPLETION): COMMAND = scripts/completions fish
EPOCH = $(shell scripts/stamp epoch)
$(eval $(call settings,build/.epoch,EPOCH))
$(SHARE): $(NATIVE) scripts/said scripts/man-page scripts/sandstorm-mcp.1.in scripts/completions build/.epoch
	$(call say,GEN,$@)
	$Qmkdir -p $(@D) && $(COMMAND) $(NATIVE) > $@.new && mv $@.new $@

RELEASE ?= out/release
RELEASE_TARGETS ?= $(TARGETS)
release: ## tarballs of all targets with manual page and completions, sources, SBOM, SHA256SUMS: out/release
	@scripts/need release vendor $(if $(filter-out $(HOST),$(RELEASE_TARGETS)),targets)
	@$(MAKE) vendor/.fetched
	@$(MAKE) $(RELEASE_TARGETS:%=target-%)
	@$(MAKE) $(SHARE)
	@scripts/release $(RELEASE) $(RELEASE_TARGETS)

run: $(BIN) ## serve .run/workspace over HTTP with a token made on first use
	@exec scripts/run $(CURDIR)/$(BIN)

image-files: $(BIN) ## lay out out/image for `docker build --target prebuilt .`, every target that is built
	@scripts/image-files
install: install-bin install-share ## binary, manual page, completions; INIT=systemd, openrc, procd or busybox (INIT_USER): its files
install-bin: $(BIN)
	install -D -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/sandstorm-mcp
	$(if $(INIT),scripts/install-init $(INIT) '$(DESTDIR)' '$(PREFIX)' $(INIT_USER))
install-share: $(SHARE)
	$Qfor file in $(SHARE:build/%=%); do install -D -m 644 build/$$file $(DESTDIR)$(PREFIX)/$$file || exit; done
clean: ## remove what was built, keep libraries and fetched sources
	rm -rf out build/share build/unit build/fuzz $(wildcard build/*/obj build/*/whole.o build/*/check-* build/*/fixture build/*/sandstorm-mcp* build/*/*.map)
distclean: ## remove all that is not in the repository
	rm -rf out build vendor/bearssl vendor/musl vendor/jsmn vendor/dl vendor/.fetched
