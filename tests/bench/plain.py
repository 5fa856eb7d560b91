"""A Flask app that answers a constant: what gunicorn as it comes is asked for (see serving.py)."""

from __future__ import annotations

from flask import Flask, Response, request


def constant() -> Response:
    request.get_data(cache=False)
    return Response('{"response":{"allowed":true}}', content_type="application/json")


app = Flask("plain")
app.add_url_rule("/floor", "floor", constant, methods=["POST"])
