// Placeholder until the first file of Captures lands.
