"""How long an example takes to make is a matter of the machine, not of what is tested: a slow one fails no test."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "any-machine", settings(settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
)
settings.load_profile("any-machine")
