"""Telemetry as it is sent over OTLP/HTTP: taken in, kept durably, sorted, and put into the store.

https://opentelemetry.io/docs/specs/otlp/#otlphttp
"""
