"""What can be read over HTTP: incident pages, bundles, health, metrics, the API's description."""
