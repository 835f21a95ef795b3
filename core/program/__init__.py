"""Programs, structured and typed: their rules V1 to V6 and V17, type inference, and direct evaluation."""
