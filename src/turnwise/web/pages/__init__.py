"""The HTTP side of the rating app: routes, templates, security, the server."""
