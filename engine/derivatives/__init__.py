"""Rules and walks: derivatives of recorded nodes, backward and forward, made of ops."""
