"""Python: pytest files that need nothing but pytest and the service's own dependencies."""
