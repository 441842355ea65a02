# The few words a newcomer needs; each is a script in tools/.
# Where rustup puts cargo, in case it is not in the PATH yet.
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

.PHONY: help demo test check-code check-deep bench dist wheel docs header clean

help:
	@echo "make demo     build the library, run a simulation that writes Zarr, kill it, restart it, read it back, make a picture"
	@echo "make test     every test, on a fresh machine too (installs what is missing; OZARR_SKIP=kill,mpi leaves steps out)"
	@echo "make check-code  what a change to the sources must pass besides: format, clippy, the documentation of the Rust code, the C tests under AddressSanitizer, a check for macOS and Windows"
	@echo "make check-deep  the long checks: valgrind, races, fuzzing, thousands of random programs, a second S3 server, other processors, a build from vendored sources (hours)"
	@echo "make dist     pack the installed library for machines without Rust and without a network"
	@echo "make wheel    pack the Python package with the shared library inside, into build/wheel"
	@echo "make docs     the documentation as a site with search, into build/site"
	@echo "make bench    the benchmark beside the bare loop and every peer, into docs/performance.md (QUICK=1: less of it, into build/)"
	@echo "make header   generate the headers in include/ and the files in abi/ anew"
	@echo "make clean    remove build/ (target/ and .venv/ stay)"

demo:
	@tools/deps demo
	@tools/demo

test:
	@tools/deps test
	@tools/test

check-code:
	@tools/deps test
	@tools/test --code

check-deep:
	@tools/deps deep
	@tools/test --deep

dist:
	@tools/deps demo
	@tools/dist

docs:
	@test -x build/docs-env/bin/markdown-it || { python3 -m venv build/docs-env && build/docs-env/bin/pip install --quiet --disable-pip-version-check markdown-it-py==4.3.0 mdit-py-plugins==0.7.0 mdurl==0.1.2; }
	@build/docs-env/bin/python tools/site

wheel:
	@tools/deps demo
	@tools/library
	@tools/python --wheel

bench:
	@tools/deps bench
	@tools/bench

header:
	@OZARR_UPDATE=1 cargo test --quiet --locked --test header

clean:
	rm -rf build
