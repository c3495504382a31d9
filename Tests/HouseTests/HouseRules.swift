/// What the house agreed on. Lists of exceptions may only become shorter: the tests say so when one is not needed any more.
enum HouseRules {
    /// Take time, zone and randomness as parameters, and work without Foundation.
    static let pure = ["BottleProtocol", "Bluetooth", "Captures", "VirtualBottle", "VirtualGadget", "Gateway", "BenchDay", "Scenarios", "TrackerCore"]
    /// The rules of zones come from Foundation.
    static let withFoundation: Set<String> = ["TrackerCore/Time/Zone.swift"]

    /// From the ground up. Folders in one row know nothing of each other.
    static let floors: [String: [[String]]] = [
        "BenchDay": [["Record"], ["Course"], ["Judgement"]],
        "BlueZ": [["Service"], ["Central", "Peripheral"]],
        "Bluetooth": [["Identifiers"], ["ATT", "Seam"], ["Faults", "GATT", "Reassembly"], ["Carriers", "Recording"]],
        "BottleProtocol": [["", "Frames"], ["Records"], ["Assembly", "Messages"]],
        "Captures": [["Packets"], ["Formats"], ["Text"], [""]],
        "Gateway": [["Policy"], ["Contract"], ["Session"], ["Engine"], ["Driver"], ["Service"]],
        "HTTPAPI": [["Wire"], ["Guard"], ["Live", "Widgets"], ["People"], ["Routes"], [""]],
        "Links": [["", "Doctor"]],
        "MQTTSurface": [["Wire"], ["Discovery"], ["Outlet"]],
        "PocketSurface": [["Wire"], ["Outlet"]],
        "Replay": [
            ["Assembly", "Files", "Wireshark"], ["Attribution"], ["Traffic"], ["Answers", "Commands", "Drinks", "Gadgets", "Rewriting", "Statistics"], ["Output", "Summary"], ["Expectations"],
        ],
        "Store": [
            ["Base"], ["Schema", "Tables"], ["Opening"], ["Decisions", "Drinks", "Files", "Journal", "Outbox", "Settings"], ["Account", "Outlets", "Waterline"],
        ],
        "TrackerDesk": [["Input", "Reports", "Service"], ["Desk"]],
        "TrackerCore": [
            ["Problems"], ["Time"], ["Companion", "Facts", "Pace", "Sync"], ["Bottle", "Health", "Settings"], ["History", "Waterline"], ["Notifications"], ["Evaluation"],
        ],
        "VirtualBottle": [["Device"], ["Answers"], ["Faults"], [""]],
        "VirtualGadget": [["Document"], ["Machine"]],
    ]

    /// Arrows between folders that are still to be turned. There are none, and there should be none.
    static let upwardArrows: Set<String> = []

    /// The command line's own: parsing, and tables of what can be done there. Every other library speaks for all surfaces.
    static let commandLine: Set<String> = [
        "CommandKit", "CommandStore", "Links/Doctor/BluetoothDiagnosis.swift", "Links/LinkAdvice.swift",
    ]

    /// Libraries whose words still name a flag or a command. There are none, and there should be none.
    static let speaksCommandLine: Set<String> = []

    /// Named by their subject: families of small types, and commands.
    static let namedBySubject: Set<String> = [
        "Bluetooth/Carriers/SocketEnds.swift",
        "BottleProtocol/Messages/Settings.swift",
        "Captures/Formats/BinaryEncoders.swift",
        "Captures/Formats/Encoding.swift",
        "Captures/Text/TextEncoders.swift",
        "DBus/DBusMessage.swift",
        "DBus/DBusObject.swift",
        "Gateway/Contract/EngineEvents.swift",
        "TrackerCore/Evaluation/Words.swift",
        "VirtualGadget/Document/Coding.swift",
        "waterh-emulator/Command.swift",
        "waterh-emulator/Options.swift",
        "waterh-gateway/Options.swift",
        "waterh-gateway/PollOutput.swift",
        "waterh-replay/CaptureArguments.swift",
        "waterh-tracker/BackupCommands.swift",
        "waterh-tracker/CheckCommand.swift",
        "waterh-tracker/DrinkCommands.swift",
        "waterh-tracker/FileCommands.swift",
        "waterh-tracker/HistoryCommands.swift",
        "waterh-tracker/JournalCommands.swift",
        "waterh-tracker/Options.swift",
        "waterh-tracker/PresetCommands.swift",
        "waterh-tracker/SessionCommands.swift",
        "waterh-tracker/SettingsCommands.swift",
        "waterh-tracker/SetupCommand.swift",
        "waterh-tracker/StatusCommand.swift",
    ]
}
