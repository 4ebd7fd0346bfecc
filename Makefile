# SPDX-License-Identifier: BSD-3-Clause
# The front doors: `make run` plays a job, `make test` runs everything CI runs. The build itself is
# CMake's; see CMakePresets.json.

N      ?= 4
PROG   ?= randomaccess
SEEDS  ?= 1000000
FUZZ_SECONDS ?= 600
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
R       = build/release

export JOBS

.PHONY: help run test test-long sim fuzz bench bench-check bench-peers papers-extoll \
        papers-extoll-check papers-portals papers-portals-check build install uninstall format reference docs check clean \
        distclean deps deps-test deps-bench configure

help:
	@echo 'make run            build, then play random access with $(N) ranks (N=, ARGS=, PROG=)'
	@echo 'make test           everything CI runs: gates, tests, sanitizers'
	@echo 'make test-long      make test, and the tests labelled slow'
	@echo 'make sim            simulate whole jobs under faults: SEEDS=$(SEEDS), goes on where it was interrupted'
	@echo 'make fuzz           fuzz every decoder for FUZZ_SECONDS=$(FUZZ_SECONDS) each (clang)'
	@echo 'make check          the gates only: format, layers, symbols, headers, clang-tidy'
	@echo 'make bench          build and run the benchmarks'
	@echo 'make bench-check    the same, and fail if an operation costs more than its limit'
	@echo 'make bench-peers    the same, and compare with MPI, UCX and libfabric in the same run'
	@echo 'make papers-extoll  experiments of papers, to docs/results/papers (PAPERS_RANKS=1024: an hour)'
	@echo 'make papers-portals experiments of the paper on Portals, to docs/results/papers; minutes on a quiet machine'
	@echo 'make papers-portals-check  the same, and fail where an acceptance value is missed'
	@echo 'make papers-extoll-check  the same, and fail where an acceptance value is missed'
	@echo 'make build          build what is installed, in $(R)'
	@echo 'make install        install to PREFIX=$(PREFIX) under DESTDIR='
	@echo 'make uninstall      remove what was installed there'
	@echo 'make format         lay the sources out with clang-format'
	@echo 'make docs           build the site of the documents, build/site/html'
	@echo 'make reference     write the tables of docs/reference anew, from headers and tests'
	@echo 'make clean          remove the build folders (distclean: the Python tools too)'

deps:
	@scripts/deps run

deps-test:
	@scripts/deps test

deps-bench:
	@scripts/deps bench

configure: deps
	@scripts/configure release

# Only what a run needs: no tests.
run: configure
	@cmake --build $(R) -j $(JOBS) --target penstock_command $(PROG)
	@scripts/play $(R) $(N) $(PROG) $(ARGS)

build: configure
	@cmake --build $(R) -j $(JOBS) --target shipped

install: build
	@cmake --install $(R) --prefix '$(PREFIX)'

uninstall:
	@scripts/uninstall '$(PREFIX)'

test: deps-test
	@scripts/stages

test-long: deps-test
	@scripts/deps matrix
	@scripts/stages --long

fuzz:
	@scripts/deps fuzz
	@scripts/configure fuzz
	@cmake --build build/fuzz -j $(JOBS) --target fuzz_targets
	@scripts/fuzz $(FUZZ_SECONDS)

# Whole jobs with clock and network made up, a seed each: the next ones that build/sim.next names.
sim: configure
	@cmake --build $(R) -j $(JOBS) --target sim_engine
	@$(R)/bin/sim_engine --resume build/sim.next $(SEEDS) --jobs $(JOBS)

check: deps-test
	@scripts/stages gates

bench: configure deps-bench
	@cmake --build $(R) -j $(JOBS) --target penstock_command benchmarks
	@python3 bench/run.py $(R) $(ARGS)

bench-check:
	@$(MAKE) --no-print-directory bench ARGS='--check $(ARGS)'

bench-peers:
	@scripts/deps peers
	@$(MAKE) --no-print-directory bench ARGS='--peers $(ARGS)'

# Simulated ranks; those in real time are as many as their programs say.
PAPERS_RANKS ?= 1024
papers-extoll papers-extoll-check: configure deps-bench
	@cmake --build $(R) -j $(JOBS) --target papers
	@build/venv/bin/python bench/papers/run.py $(R) --ranks $(PAPERS_RANKS) --resume \
		$(if $(filter %-check,$@),--reuse --check,--docs docs/results/papers) $(ARGS)

papers-portals papers-portals-check: configure deps-bench
	@cmake --build $(R) -j $(JOBS) --target papers
	@build/venv/bin/python bench/papers/run.py $(R) --only portals \
		$(if $(filter %-check,$@),--reuse --check,--docs docs/results/papers) $(ARGS)

format: deps-test
	@scripts/check_format --write

docs:
	@scripts/deps docs
	@scripts/make_site

reference:
	@scripts/make_coverage

clean:
	@for folder in build/*; do case $$folder in build/venv) ;; *) rm -rf "$$folder" ;; esac; done

distclean:
	@rm -rf build
