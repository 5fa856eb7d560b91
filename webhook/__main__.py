"""`python -m webhook` is `gangcheck`."""

from webhook.cli import main

main()
