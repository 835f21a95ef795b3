"""Programs and graphs as JSON documents, to write and to read. What the documents look like: docs/json.md."""
