"""Exchange with other systems, a folder for each."""
