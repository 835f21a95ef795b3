"""Programs and graphs as JSON documents: writing and reading them. docs/json.md describes the documents."""
