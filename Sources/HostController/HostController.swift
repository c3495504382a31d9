// Placeholder until the first file of HostController lands.
