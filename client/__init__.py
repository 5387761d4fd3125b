"""What trainers import: `connect`, the client, its batches and loaders."""
