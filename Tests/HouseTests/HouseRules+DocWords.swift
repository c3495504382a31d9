extension HouseRules {
    /// Public properties and initialisers without doc words, by target. The numbers may only become smaller.
    static let wordless: [String: Int] = [
        "Archives": 4, "BenchDay": 25, "BlueZ": 18, "Bluetooth": 217, "BottleProtocol": 74, "Captures": 33,
        "CommandKit": 31, "CommandStore": 19, "DBus": 67, "Desktop": 14, "Emulation": 12, "FleetSimulation": 9,
        "FleetStore": 25, "FleetSurface": 6, "FleetWire": 15, "Gateway": 61, "HTTPAPI": 7, "HostController": 12,
        "Links": 14, "MQTT": 20, "MQTTSurface": 29, "Outgoing": 16, "PocketSurface": 10, "Replay": 134,
        "ScenarioFiles": 6, "Scenarios": 23, "ServiceLog": 3, "Store": 61, "Sync": 12, "TrackerCore": 390,
        "TrackerDesk": 109, "VirtualBottle": 37, "VirtualGadget": 35, "waterh-emulator": 3, "waterh-fleet": 1, "waterh-gateway": 1,
        "waterh-tracker": 1,
    ]
}
