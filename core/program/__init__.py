"""The program: structured and typed. Its rules V1 to V6 and V17, its types, and its direct evaluation."""
