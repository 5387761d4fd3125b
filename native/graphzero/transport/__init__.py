"""How trainers and the daemon find each other, and how both set up gRPC."""
