// Placeholder until the first file of Links lands.
