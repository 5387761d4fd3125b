"""The HTTP side port (--http): /metrics, health, the page and the JSON behind it."""
