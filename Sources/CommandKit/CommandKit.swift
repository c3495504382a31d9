// Placeholder until the first file of CommandKit lands.
