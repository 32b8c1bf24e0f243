# Every command sets up what it needs: missing Debian packages are installed as root or with sudo.
# The work is in the scripts and presets that are named here.
JOBS ?= $(shell nproc)
RELEASE := build/release/bin
# The programs that have tests with the label `threads`.
THREADS_TESTS := api_threads_test bench_test scheduler_test
BENCH_ARGUMENTS ?= http --offcut $(RELEASE)/offcut
BENCH_HTTP_ARGUMENTS ?=
BENCH_SCHEDULING_ARGUMENTS ?=
BENCH_PACKING_ARGUMENTS ?=

.PHONY: help build demo test lint bench bench-http bench-packing bench-scheduling asan tsan e2e e2e-all clean
.DEFAULT_GOAL := help

help:
	@echo 'make build   release binaries in $(RELEASE)/'
	@echo 'make demo    build, and watch Offcut place pods on a small cluster'
	@echo 'make test    build and run all tests; the last line counts them'
	@echo 'make lint    layout, clang-tidy, layering and house rules'
	@echo 'make bench   build, and measure the extender over HTTP'
	@echo 'make bench-http  build, and measure it beside an echo and an extender in Go'
	@echo 'make bench-packing  build, and measure how well strategies pack production traces'
	@echo 'make bench-scheduling  build, and measure pods a second under a real kube-scheduler'
	@echo 'make asan    all tests under AddressSanitizer and UBSan'
	@echo 'make tsan    the tests of threads under ThreadSanitizer'
	@echo 'make e2e     build, and run it under a real kube-scheduler of the newest version (needs Go)'
	@echo 'make e2e-all the same under every version in test/e2e/binaries/'
	@echo 'make clean   remove build/'

build:
	@deploy/install-build-dependencies build
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release --parallel $(JOBS)

demo: build
	@$(RELEASE)/offcut-bench demo --offcut $(RELEASE)/offcut

bench: build
	@$(RELEASE)/offcut-bench $(BENCH_ARGUMENTS)

bench-http: build
	@bench/load $(RELEASE)/offcut-bench $(RELEASE)/offcut $(BENCH_HTTP_ARGUMENTS)

bench-packing: build
	@deploy/install-build-dependencies bench-packing
	@bench/packing/bound.py
	@bench/packing/report.py $(RELEASE)/offcut $(BENCH_PACKING_ARGUMENTS)

bench-scheduling: build
	@OFFCUT_BINARY=$(CURDIR)/$(RELEASE)/offcut bench/scheduling-rate $(BENCH_SCHEDULING_ARGUMENTS)

test:
	@deploy/install-build-dependencies test
	@cmake --preset dev --log-level=WARNING
	@cmake --build --preset dev --parallel $(JOBS)
	@test/run build/dev

asan tsan:
	@deploy/install-build-dependencies test
	@cmake --preset $@ --log-level=WARNING
	@cmake --build --preset $@ --parallel $(JOBS) $(if $(filter tsan,$@),--target $(THREADS_TESTS))
	@test/run build/$@ $(if $(filter tsan,$@),-L threads)

# OFFCUT_BINARY=build/dev/bin/offcut tests that program; without it the release build is made.
e2e e2e-all: $(if $(OFFCUT_BINARY),,build)
	@OFFCUT_BINARY=$(abspath $(OFFCUT_BINARY)) test/e2e/run $(if $(filter e2e-all,$@),all)

lint:
	@deploy/install-build-dependencies lint
	@cmake --preset dev --log-level=WARNING
	@status=0; for check in test/layering_test.py test/house_test.py "test/lint build/dev"; do \
	  python3 $$check || status=1; \
	done; exit $$status

clean:
	@rm -rf build
