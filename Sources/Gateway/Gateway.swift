// Placeholder until the first file of Gateway lands.
