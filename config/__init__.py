"""Wiring: settings, addresses, the Celery application, the operators' site. Imported by no other package."""
