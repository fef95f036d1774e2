# SPDX-License-Identifier: MIT
# `make help` lists the verbs. Two settings come from the environment or the command line:
#   PYTHON=/path/to/python   an environment that has torch; nothing in it is changed (else: .venv)
#   CUDA_HOME, TORCH_CUDA_ARCH_LIST   win over what is found

.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help run test test-long 01 02 03 04 05 stages doctor lint notebooks notebooks-run bench bench-report \
	profile sanitize fuzz mutants mistakes mistake mend exercises hint restart clean FORCE

help: ## show these lines
	@sed -n 's/^\([-a-z0-9 ]*\):.*## /make \1\t/p' Makefile | expand -t 24

ifdef PYTHON
PY := $(shell command -v $(PYTHON))
$(if $(PY),,$(error PYTHON is $(PYTHON), which is no program here; taken is a Python that has torch))
else
PY := .venv/bin/python
$(PY): .venv/installed ;
endif

# ---- the environment: made once, and again when requirements.txt changes or an install was killed

.venv/installed: requirements.txt
	@python3 tools/doctor.py --venv
	python3 -m venv .venv
	.venv/bin/python -m pip install --disable-pip-version-check -r requirements.txt
	touch $@

# ---- what toolchain.py finds: TAG, CUDA_HOME, CUDA_LIB, ARCHS; when it changes, builds are redone

ifneq ($(filter-out help doctor clean .venv/installed,$(or $(MAKECMDGOALS),help)),)
include build/config.mk
endif

build/config.mk: $(PY) FORCE
	@mkdir -p $(@D)
	@$(PY) 03_load_inline/toolchain.py > $@.new
	@cmp -s $@.new $@ || cp $@.new $@

ifeq ($(origin CC),default)
CC := gcc
endif
CFLAGS := -std=c17 -O3 -funroll-loops -ffp-contract=off -Wall -Wextra -Werror
CXXFLAGS := -O3 -Wall -Wextra -Werror
NVCC = $(CUDA_HOME)/bin/nvcc -O3 $(ARCHS) -L$(CUDA_LIB) -Xcompiler -Wall,-Wextra,-Werror,-fPIC
ifneq ($(CUDA_HOME),)
WITH_CUDA := -DSQUARE_WITH_CUDA -isystem $(CUDA_HOME)/include
endif

# ---- 01: two programs

STAGE_01 := $(if $(CUDA_HOME),$(addprefix 01_pure_cuda/build/,square square_on_host))
SOURCES_01 := $(addprefix 01_pure_cuda/,square_kernel.cuh floats.h) build/config.mk Makefile

01_pure_cuda/build/square: 01_pure_cuda/square.cu $(SOURCES_01)
	@mkdir -p $(@D)
	$(NVCC) $< -o $@

01_pure_cuda/build/square_on_host: 01_pure_cuda/square_on_host.cpp $(SOURCES_01)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -isystem $(CUDA_HOME)/include $< -o $@

# ---- 02: a library and a C program that calls it

STAGE_02 := $(addprefix 02_c_launcher/build/,libsquare.so square)
OUT_02 := 02_c_launcher/build

$(OUT_02)/square_cpu.o: 02_c_launcher/square_cpu.c 02_c_launcher/square_launch.h build/config.mk Makefile
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -fPIC $(WITH_CUDA) -c $< -o $@

ifneq ($(CUDA_HOME),)
# The toolkit of the Python registry has libcudart.so.13, but not the name that -lcudart looks for.
$(OUT_02)/libsquare.so: 02_c_launcher/square_launch.cu $(OUT_02)/square_cpu.o \
		$(addprefix 02_c_launcher/,square_kernel.cuh square_launch.h)
	ln -sf $(firstword $(wildcard $(CUDA_LIB)/libcudart.so.*)) $(OUT_02)/libcudart.so
	$(NVCC) -cudart shared -shared -L$(OUT_02) $(filter %.cu %.o,$^) -o $@.new
	mv $@.new $@

CUDART := -L$(OUT_02) -lcudart -Wl,-rpath,$(CUDA_LIB)
else
$(OUT_02)/libsquare.so: $(OUT_02)/square_cpu.o
	$(CC) -shared $^ -o $@.new
	mv $@.new $@
endif

$(OUT_02)/square: 02_c_launcher/main.c $(OUT_02)/libsquare.so $(addprefix 02_c_launcher/,floats.h square_launch.h)
	$(CC) $(CFLAGS) $(WITH_CUDA) $< -L$(OUT_02) -lsquare $(CUDART) -Wl,-rpath,'$$ORIGIN' -o $@

# ---- 03 and 04 build themselves when they are imported; 05 is built here, ahead of time

SITE := 05_setup_py/build/$(TAG)/site
STAGE_05 := $(SITE)/installed
SOURCES_05 := $(wildcard 05_setup_py/*.py 05_setup_py/*.toml 05_setup_py/csrc/* 05_setup_py/src/torch_square/*.py)

$(STAGE_05): $(SOURCES_05) build/config.mk
	rm -rf $(SITE)
	$(PY) -m pip install --disable-pip-version-check --no-build-isolation --no-deps --no-index \
		--target $(SITE) ./05_setup_py
	touch $@

# ---- the verbs

stages: $(STAGE_01) $(STAGE_02) $(STAGE_05)

run: stages ## run every stage on real tensors; a closing table
	$(PY) tools/run.py

test: stages ## hold every stage against torch.square; ARGS go to pytest
	$(PY) -m pytest tests -m "not long" $(ARGS)

test-long: stages ## what takes minutes more: every mistake made, built and noticed, every page followed
	$(PY) -m pytest tests -m long $(ARGS)

01: $(STAGE_01)
02: $(STAGE_02)
05: $(STAGE_05)
01 02 03 04 05: ## run one stage
	$(PY) tools/run.py $@

doctor: ## what is here, what is missing, and what mends it
	@$(firstword $(wildcard $(PY)) python3) tools/doctor.py

lint: stages ## clang-format, ruff, and builds in which a warning is an error
	$(PY) tools/lint.py

notebooks: stages ## open the notebooks in Jupyter
	PATH="$(abspath $(dir $(PY))):$$PATH" $(PY) -m jupyter lab notebooks/01_pure_cuda.ipynb

notebooks-run: stages ## run the notebooks from top to bottom and keep what comes out
	$(PY) tools/notebooks.py $(ARGS)

bench: stages ## measure every stage here, draw the charts, fill the README's tables; ARGS go to it
	$(PY) bench/bench.py $(ARGS)

bench-report: $(PY) ## draw charts and tables again from bench/results
	$(PY) bench/report.py

profile: stages ## what the GPU's memory does, counted by ncu
	$(PY) bench/counters.py

sanitize: stages ## the GPU tests under compute-sanitizer; ARGS: its tool, pytest's arguments
	$(PY) tools/sanitize.py $(ARGS)

fuzz: stages ## 20000 drawn inputs a stage, a minute of threads, a minute of random C calls
	SQUARE_EXAMPLES=$(or $(EXAMPLES),20000) SQUARE_SECONDS=60 $(PY) -m pytest -s -v \
		tests/test_properties.py tests/test_threads_and_processes.py tests/test_operator_sanitized.py $(ARGS)

mutants: stages ## faults put into copies: the suite has to turn red for each
	$(PY) tests/mutants.py

mistakes: $(PY) ## mistakes to make on purpose
	@$(PY) tools/mistakes.py

mistake: $(PY) ## make one, NAME=..., and run what shows it
	@$(PY) tools/mistakes.py $(NAME)

mend: $(PY) ## undo it
	@$(PY) tools/mistakes.py --mend

exercises: $(PY) ## how far you are, the next exercise, or NAME=..., and what is still wrong with it
	@$(PY) tools/exercises.py $(NAME)

hint: $(PY) ## a hint for it, or for NAME=...
	@$(PY) tools/exercises.py --hint $(NAME)

restart: $(PY) ## hand it out anew, or NAME=..., or NAME=all
	@$(PY) tools/exercises.py --restart $(NAME)

clean: ## delete what was built, but not .venv
	rm -rf build */build 05_setup_py/src/*.egg-info
