// Placeholder until the first file of VirtualBottle lands.
