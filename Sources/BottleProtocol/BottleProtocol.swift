// Placeholder until the first file of BottleProtocol lands.
