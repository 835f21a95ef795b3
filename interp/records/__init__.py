"""What a run leaves on disk: event logs, outcomes and documents as JSON, and which events a run keeps."""
