// Placeholder until the first file of Replay lands.
