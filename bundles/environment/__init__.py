"""What a service's code needs around it, prepared outside the sandbox and mounted into it read-only."""

from bundles.environment.prepare import Environment, Environments

__all__ = ["Environment", "Environments"]
