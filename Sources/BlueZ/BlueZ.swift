// Placeholder until the first file of BlueZ lands.
