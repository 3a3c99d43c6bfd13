# Everything a person types. The work is done in tools/ and in config/embedded/.

SHELL := /bin/sh
python := .venv/bin/python
embedded := $(python) -m config.embedded
# Addresses and servers of the person's own must not leak into checks of the production settings.
production := env -u EVENHAND_EMBEDDED -u EVENHAND_VAR -u DEBUG -u MAIL_URL \
	DATABASE_URL=postgresql://app:none@127.0.0.1/none CELERY_BROKER_URL=redis://127.0.0.1:1/0 \
	ALLOWED_HOSTS=evenhand.example.org PUBLIC_URL=https://evenhand.example.org \
	SECRET_KEY="$$($(python) -c 'import secrets; print(secrets.token_urlsafe(60))')"

.PHONY: help run test check fix bench coverage-check conformance journeys faults screenshots clean setup

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

setup: ## Make the virtual environment and install the locked packages
	@./tools/setup.sh

run: setup ## Start Evenhand with all it needs, until Ctrl-C (PORT=8000)
	@exec $(embedded) up --with-parent $(if $(PORT),--port '$(PORT)')

test: setup ## Run all tests on a real PostgreSQL and a real broker (ARGS="-k name")
	@./tools/chromium.sh
	@exec $(embedded) run --test -- $(python) -m pytest -n 2 $(ARGS)

check: setup ## Look for faults without running anything or changing anything
	$(python) -m ruff check .
	$(python) -m ruff format --check .
	@echo "mypy"
	@$(production) $(python) -m mypy
	$(python) .venv/bin/lint-imports
	@echo "manage.py check --deploy, on the production settings"
	@$(production) $(python) manage.py check --deploy --fail-level WARNING
	@echo "manage.py makemigrations --check"
	@$(embedded) run --test -- $(python) manage.py makemigrations --check --dry-run

fix: setup ## Let the tools repair what they can
	$(python) -m ruff check --fix .
	$(python) -m ruff format .

bench: setup ## Measure speed and memory
	@exec $(embedded) run --test -- $(python) -m tests.bench --write $(ARGS)

coverage-check: setup ## Measure how well the intervals and tests hold; writes docs/coverage.md (ARGS="--datasets 200")
	@$(python) -m tests.coverage $(ARGS)

conformance: setup ## Check the verdict against the published tool and both adapters
	@test -x .venv-conformance/bin/python || $(python) -m venv .venv-conformance
	@.venv-conformance/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		-r requirements-conformance.lock
	@exec .venv-conformance/bin/python -m tests.conformance

journeys: setup ## Walk through the console in a real browser, with a real server and worker
	@./tools/chromium.sh
	@exec $(embedded) run --test -- $(python) -m pytest -m slow tests/journeys -n 2 --dist worksteal $(ARGS)

faults: setup ## Attack a real web server, kill workers and servers, and count what was lost (ARGS="--seeds 1,2")
	@./tools/faketime.sh
	@$(embedded) run --test -- $(python) -m pytest -m slow tests/serving
	@exec $(embedded) run --test -- $(python) -m pytest -m slow tests/faults -n 2 --dist worksteal $(ARGS)

screenshots: setup ## Make the README's pictures from the running demo (PORT=8000)
	@$(python) tools/screenshots.py --address http://127.0.0.1:$(or $(PORT),8000)

clean: ## Remove the virtual environment and all data, after asking
	@./tools/clean.sh
