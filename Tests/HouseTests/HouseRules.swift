/// What the house agreed on. Lists of exceptions may only become shorter: the tests say so when one is not needed any
/// more.
enum HouseRules {
    /// Take time, zone and randomness as parameters, and work without Foundation.
    static let pure = [
        "BottleProtocol", "Bluetooth", "Captures", "VirtualBottle", "VirtualGadget", "Gateway", "BenchDay", "Scenarios",
        "TrackerCore", "Pauses", "Digests",
    ]
    /// The rules of zones come from Foundation.
    static let withFoundation: Set<String> = ["TrackerCore/Time/Zone.swift"]

    /// Drivers, which move machines on the machine's own time, and the carriers of links between processes. The list
    /// may only shrink.
    static let impure: Set<String> = [
        // Links over sockets of this machine, and their queues.
        "Bluetooth/Carriers/CentralDriver.swift: Dispatch", "Bluetooth/Carriers/MemoryLink.swift: Dispatch",
        "Bluetooth/Carriers/PacketSocket.swift: Dispatch",
        "Bluetooth/Carriers/PacketSocket.swift: Glibc", "Bluetooth/Carriers/PeripheralDriver.swift: Dispatch",
        "Bluetooth/Carriers/SocketCentralLink.swift: Dispatch",
        "Bluetooth/Carriers/HCICentralLink.swift: Dispatch", "Bluetooth/Carriers/HCIPeripheralLink.swift: Dispatch",
        "Bluetooth/Carriers/StreamController.swift: Dispatch",
        "Bluetooth/Carriers/TCPStream.swift: Dispatch", "Bluetooth/Carriers/TCPStream.swift: Glibc",
        "Bluetooth/Carriers/SocketPeripheralLink.swift: Dispatch",
        "Bluetooth/Carriers/SocketPeripheralLink.swift: Glibc", "Bluetooth/Carriers/UnixSocket.swift: Glibc",
        // A link's clock and its alarm, which are parameters of every link.
        "Bluetooth/Faults/FaultyPeripheralLink.swift: Dispatch", "Bluetooth/Seam/DeadlineTimer.swift: Dispatch",
        "Bluetooth/Seam/MonotonicClock.swift: Glibc",
        // What moves a machine on the machine's own time.
        "BenchDay/Course/DayClient.swift: sleep", "Gateway/Driver/DriverClock.swift: ContinuousClock",
        "Gateway/Driver/DriverClock.swift: sleep",
        "VirtualBottle/BottleDriver.swift: sleep", "VirtualGadget/Machine/GadgetDriver.swift: sleep",
    ]

    /// Double a pause by hand. There are none, and there should be none.
    static let doublesByHand: Set<String> = []

    /// What the cells of README's column "may not know" mean. Modules also count when they are reached through another
    /// target of ours.
    static let ignorance: [String: Ignorance] = [
        "Bluetooth": .of(modules: ["Bluetooth", "BlueZ", "CBluetooth", "ESPHome", "HostController", "Links"]),
        "Bluetooth over the air": .of(modules: ["BlueZ", "CBluetooth", "ESPHome", "HostController", "Links"]),
        "D-Bus": .of(modules: ["BlueZ", "CDBus", "DBus", "Desktop"]),
        "Foundation": .of(modules: ["Foundation", "FoundationEssentials", "FoundationNetworking"]),
        "HTTP": .of(modules: [
            "CCurl", "HTTPAPI", "HTTPListening", "HTTPTypes", "Hummingbird", "HummingbirdCore", "NIOCore", "Outgoing",
        ]),
        "SQL": .of(modules: ["CLibPQ", "FleetStore", "GRDB"]),
        "SQLite": .of(modules: ["GRDB", "Store"]),
        "Swift types": .ofSwift,
        "bottles": .of(modules: ["BottleProtocol", "Emulation", "Replay", "VirtualBottle"]),
        "captures": .of(modules: ["Archives", "CArchive", "Captures", "Replay"]),
        "files": .of(
            modules: ["Archives", "Emulation", "Store"],
            types: ["FileHandle", "FileManager", "FileDescriptor", "FilePath"]),
        "flags": .of(modules: ["ArgumentParser", "CommandKit", "CommandStore", "Links"]),
        "libpq": .of(modules: ["CLibPQ"]),
        "links": .of(modules: ["BlueZ", "Bluetooth", "ESPHome", "HostController", "Links"]),
        "rules": .notShown("whether a command decides something is seen by who reads it"),
        "sockets": .of(
            modules: ["CBluetooth", "Glibc", "HostController"],
            types: [
                "PacketSocket", "SocketCentralLink", "SocketPeripheralLink", "SocketDialer", "SocketListener",
                "UnixSocket",
            ]),
        "surfaces": .of(modules: [
            "CDashboard", "CommandKit", "CommandStore", "FleetServer", "FleetSurface", "HTTPAPI", "Links",
            "MQTTSurface", "PocketSurface", "TrackerDesk",
        ]),
        "the day": .of(modules: ["Store", "TrackerCore", "TrackerDesk"]),
        "the emulated bottle": .of(modules: ["Emulation", "VirtualBottle", "VirtualGadget"]),
        "the gateway": .of(modules: ["Gateway"]),
        "the store": .of(modules: ["CommandStore", "GRDB", "Store", "Sync"]),
        "time of day": .of(
            modules: ["Foundation", "FoundationEssentials", "Glibc"],
            types: ["ContinuousClock", "Date", "SuspendingClock"]),
        "what a capture holds": .of(modules: ["BottleProtocol", "VirtualBottle"]),
        "what is answered there": .ofOurTargets,
        "what is said there": .ofOurTargets,
        "who is asked": .of(modules: [
            "ArgumentParser", "CommandKit", "CommandStore", "Foundation", "FoundationEssentials", "Glibc",
        ]),
    ]

    /// Reached through another target, whose business it is. The list may only shrink.
    static let reached: Set<String> = [
        // The captures that are unpacked are told apart by the readers of Replay, which know bottles.
        "Archives reaches BottleProtocol through Replay", "Archives reaches VirtualBottle through Replay",
        // The server uses the fleet's store, and the store alone uses libpq.
        "FleetServer reaches CLibPQ through FleetStore",
        // Surfaces use the desk and the store; these use the gateway's rules and SQLite.
        "FleetSurface reaches Bluetooth through TrackerDesk", "FleetSurface reaches GRDB through Store",
        "FleetSurface reaches GRDB through TrackerDesk",
        "HTTPAPI reaches Bluetooth through TrackerDesk", "HTTPAPI reaches GRDB through Store",
        "HTTPAPI reaches GRDB through TrackerDesk",
        "MQTTSurface reaches Bluetooth through TrackerDesk", "MQTTSurface reaches GRDB through Store",
        "MQTTSurface reaches GRDB through TrackerDesk",
        "PocketSurface reaches Bluetooth through TrackerDesk", "PocketSurface reaches GRDB through Store",
        "PocketSurface reaches GRDB through TrackerDesk",
        // The desk empties the outbox, and Sync alone sends.
        "TrackerDesk reaches CCurl through Sync", "TrackerDesk reaches Outgoing through Sync",
    ]

    /// Modules of C and bytes of pages, and what measures.
    static let withoutRow: Set<String> = ["Benchmarks", "CReport"]

    /// From the ground up. Folders in one row know nothing of each other.
    static let floors: [String: [[String]]] = [
        "BenchDay": [["Record"], ["Course"], ["Judgement"]],
        "BlueZ": [["Service"], ["Central", "Peripheral"]],
        "Bluetooth": [
            ["Identifiers"], ["ATT", "Seam"], ["Faults", "GATT", "HCI", "Reassembly"], ["Carriers", "Recording"],
        ],
        "BottleProtocol": [["Frames"], [""], ["Records"], ["Assembly", "Messages"]],
        "Captures": [["Packets"], ["Formats"], ["Text"], [""]],
        "Gateway": [["Policy"], ["Contract"], ["Session"], ["Engine"], ["Driver"], ["Service"]],
        "HTTPAPI": [["Wire"], ["Guard"], ["Live", "Widgets"], ["People"], ["Routes"], [""]],
        "Links": [["", "Doctor"]],
        "MQTTSurface": [["Wire"], ["Discovery"], ["Outlet"]],
        "PocketSurface": [["Wire"], ["Outlet"]],
        "Replay": [
            ["Assembly", "Files", "Wireshark"], ["Attribution"], ["Traffic"],
            ["Answers", "Commands", "Drinks", "Gadgets", "Rewriting", "Statistics"], ["Output", "Summary"],
            ["Evidence", "Expectations", "Watch"],
        ],
        "Store": [
            ["Base"], ["Schema", "Tables"], ["Opening"], ["Drinks", "Files", "Journal", "Settings"], ["Decisions"],
            ["Waterline"], ["Outbox", "Outlets"], ["Account"],
        ],
        "TrackerDesk": [["Input", "Reports", "Service"], ["Desk"]],
        "TrackerCore": [
            ["Problems"], ["Time"], ["Companion", "Facts", "Pace", "Sync"], ["Bottle", "Health", "Settings"],
            ["History", "Waterline"], ["Notifications"], ["Evaluation"],
        ],
        "VirtualBottle": [["Device"], ["Answers"], ["Faults"], [""]],
        "VirtualGadget": [["Document"], ["Machine"]],
    ]

    /// Arrows between folders that are still to be turned. There are none, and there should be none.
    static let upwardArrows: Set<String> = []

    /// The command line's own: parsing, and tables of what can be done there. Every other library speaks for all
    /// surfaces.
    static let commandLine: Set<String> = [
        "CommandKit/PrintedCommands.swift", "CommandKit/ServiceSocket.swift", "CommandKit/UnknownVerb.swift",
        "CommandStore/Configuration+People.swift",
        "CommandStore/Configuration.swift", "CommandStore/Machine.swift", "CommandStore/StoreAdvice.swift",
        "CommandStore/StorePlace.swift",
        "Links/Doctor/BluetoothDiagnosis.swift", "Links/LinkAdvice.swift",
        // What unpacks or converts a file that is refused: programs that are none of ours.
        "Captures/Formats/ForeignFile.swift", "Importing/TextDecoder.swift",
    ]

    /// Libraries whose words still name a flag or a command. There are none, and there should be none.
    static let speaksCommandLine: Set<String> = []

    /// What the pages say of the programs on the machine that serves them: how a bottle and a browser are let in, and
    /// where more is told.
    static let pageCommands: Set<String> = [
        "CDashboard/pages/openapi.json: waterh-gateway pair", "CDashboard/pages/openapi.json: waterh-tracker token",
        "CDashboard/pages/index.html: waterh-tracker status", "CDashboard/pages/pair.js: waterh-gateway pair",
        "CDashboard/pages/texts-de.js: waterh-gateway adopt",
        "CDashboard/pages/texts-de.js: waterh-tracker journal", "CDashboard/pages/texts-en.js: waterh-gateway adopt",
        "CDashboard/pages/texts-en.js: waterh-tracker journal",
    ]

    /// Compiled by `hardware/fuzz` and by the bench machine, not by the package.
    static let scripted: Set<String> = ["Tests/Fuzz", "Tests/System"]

    /// Named by their subject: families of small types, and commands.
    static let namedBySubject: Set<String> = [
        "BlueZTests/BlueZTableTests.swift",
        "BlueZTests/TroubleTests.swift",
        "BluetoothTests/Bytes.swift",
        "BluetoothTests/ServerConversation.swift",
        "BottleProtocolTests/Bytes.swift",
        "CommandTests/ForeignPeerTests.swift",
        "ConversationTests/Observing.swift",
        "ConversationTests/Rewriting.swift",
        "GatewayTests/Scenario.swift",
        "HTTPAPITests/Household+Testing.swift",
        "Support/Support.swift",
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
