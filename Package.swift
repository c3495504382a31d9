// swift-tools-version: 6.2
import PackageDescription

// One target per subject, from the bottom layer to the programs (see docs/architecture.md).

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let nio = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioHTTP = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioHTTPTypes = Target.Dependency.product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let tomlKit = Target.Dependency.product(name: "TOMLKit", package: "TOMLKit")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")

/// Settings of all targets. Warnings are errors only in CI, because a later Swift may warn of more.
let strict: [SwiftSetting] =
    (Context.environment["WATERH_WARNINGS"] == "errors" ? [.treatAllWarnings(as: .error)] : []) + [
        .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ]

func target(
    _ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = [], resources: [Resource] = []
) -> Target {
    .target(name: name, dependencies: dependencies, exclude: exclude, resources: resources, swiftSettings: strict)
}

func command(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies + ["CommandSupport", argumentParser], swiftSettings: strict)
}

func tests(
    _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [], settings: [SwiftSetting] = strict
) -> Target {
    .testTarget(name: name, dependencies: dependencies + ["Support"], exclude: exclude, swiftSettings: settings)
}

let package = Package(
    name: "waterh-bench",
    products: [
        .executable(name: "waterh-emulator", targets: ["waterh-emulator"]),
        .executable(name: "waterh-gateway", targets: ["waterh-gateway"]),
        .executable(name: "waterh-replay", targets: ["waterh-replay"]),
        .executable(name: "waterh-tracker", targets: ["waterh-tracker"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/LebJe/TOMLKit", exact: "0.6.0"),
        // Traits add dependencies that nothing here uses.
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
    ],
    targets: [
        // C modules: headers of system libraries, and files that are embedded in a program.
        .systemLibrary(name: "CArchive", pkgConfig: "libarchive", providers: [.apt(["libarchive-dev", "zlib1g-dev"])]),
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CLibXML2", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),
        .systemLibrary(name: "CLinux", pkgConfig: "bluez", providers: [.apt(["libbluetooth-dev"])]),
        .systemLibrary(name: "CMosquitto", pkgConfig: "libmosquitto", providers: [.apt(["libmosquitto-dev"])]),
        .systemLibrary(name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
        .target(name: "CDashboard", exclude: ["pages"]),
        .target(name: "CReport", exclude: ["pages"]),

        // Values: time, zone and randomness are parameters.
        target("BottleProtocol"),
        target("Bluetooth", ["Utilities"]),
        target("Captures", ["Bluetooth"]),
        target("Emulator", ["BottleProtocol", "Bluetooth"]),
        target("TrackerCore", ["BottleProtocol", "Utilities"]),
        target("Utilities", ["CCrypto", "CLinux"]),

        // Decisions: events in, effects out.
        target("Gateway", ["BottleProtocol", "Bluetooth", "TrackerCore"]),
        target("Replay", ["BottleProtocol", "Bluetooth", "Captures", "CArchive", "Emulator"]),

        // Input and output.
        target("BlueZ", ["Bluetooth", "CLinux", "DBus", "Utilities"]),
        target("DBus", ["CDBus", "Utilities"]),
        target("ESPHome", ["Bluetooth", "Utilities"]),
        target("Store", ["TrackerCore", "Utilities", grdb]),

        // What a user can do with a store, for every interface.
        target("TrackerService", ["CArchive", "CCurl", "CLibXML2", "Gateway", "Store", "TrackerCore", logging]),

        // Interfaces.
        target(
            "CommandSupport",
            [
                "BlueZ", "Bluetooth", "BottleProtocol", "CLinux", "Captures", "DBus", "Emulator", "ESPHome", "Replay",
                "Store",
                "TrackerCore", "Utilities", argumentParser, logging, tomlKit,
            ]),
        target(
            "HomeAssistant", ["CMosquitto", "Store", "TrackerCore", "TrackerService", "Utilities", logging],
            resources: [.embedInCode("Discovery/entities.json")]),
        target("Notifications", ["DBus", "Store", "TrackerCore", "TrackerService", "Utilities", logging]),
        target(
            "PostgreSQL", ["CLibPQ", "DBus", "Store", "TrackerCore", "TrackerService", "Utilities", logging],
            resources: [.embedInCode("schema.sql")]),
        target(
            "WebServer",
            [
                "CDashboard", "Store", "TrackerCore", "TrackerService", "Utilities", hummingbird, hummingbirdCore,
                httpTypes, logging, nio, nioHTTP, nioHTTPTypes, nioPosix,
            ]),

        // Programs.
        command("waterh-emulator", ["Bluetooth", "BottleProtocol", "Emulator", "Replay", "TrackerCore"]),
        command(
            "waterh-gateway",
            [
                "BlueZ", "Bluetooth", "BottleProtocol", "Captures", "CLinux", "CQREncode", "Emulator", "Gateway",
                "HomeAssistant", "Notifications", "PostgreSQL", "Store", "TrackerCore", "TrackerService", "Utilities",
                "WebServer", logging,
            ]),
        command(
            "waterh-replay",
            ["BlueZ", "Bluetooth", "BottleProtocol", "Captures", "CReport", "Emulator", "Replay", "Utilities"]),
        command("waterh-tracker", ["Notifications", "Store", "TrackerCore", "TrackerService", "Utilities"]),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "BlueZ", "Bluetooth", "BottleProtocol", "Captures", "PostgreSQL", "Store", "TrackerCore",
                "TrackerService", logging,
            ],
            swiftSettings: strict),

        // Tests.
        .target(name: "Support", path: "Tests/Support", exclude: ["peer.py"], swiftSettings: strict),
        .target(
            name: "TrackerSupport", dependencies: ["TrackerCore", logging], path: "Tests/TrackerSupport",
            swiftSettings: strict),
        tests("BottleProtocolTests", ["BottleProtocol"]),
        tests("UtilitiesTests", ["CCrypto", "Utilities"]),
        tests("BluetoothTests", ["Bluetooth"]),
        tests("CapturesTests", ["Captures", "Bluetooth"]),
        tests("ReplayTests", ["Replay", "Captures", "Bluetooth", "BottleProtocol", "Emulator"]),
        // Captures to ATT PDUs and back, compared with tshark.
        tests("ConversationTests", ["Replay", "Captures", "Bluetooth", "BottleProtocol"]),
        tests(
            "TrackerCoreTests", ["TrackerCore", "TrackerSupport", "TrackerService", "BottleProtocol"],
            exclude: ["Data"]),
        tests("ImportingTests", ["TrackerService", "TrackerCore"]),
        tests("VirtualBottleTests", ["Emulator", "BottleProtocol", "Bluetooth"]),
        tests("PeripheralProfileTests", ["Emulator", "CommandSupport", "Replay", "Captures", "Bluetooth"]),
        .target(
            name: "GatewaySupport", dependencies: ["Gateway", "BottleProtocol", "Bluetooth", "TrackerCore"],
            path: "Tests/GatewaySupport", swiftSettings: strict),
        tests("GatewayTests", ["Gateway", "GatewaySupport", "BottleProtocol", "Bluetooth", "TrackerCore"]),
        tests(
            "StoreTests", ["Store", "TrackerCore", "TrackerSupport", "GatewaySupport", "TrackerService", grdb],
            exclude: ["Data"]),
        tests(
            "TrackerServiceTests",
            [
                "Utilities", "TrackerService", "Store", "TrackerCore", "TrackerSupport", "Gateway", "GatewaySupport",
                "Bluetooth",
            ]),
        tests(
            "HTTPAPITests",
            [
                "WebServer", "TrackerService", "Store", "Gateway", "TrackerCore", "TrackerSupport", hummingbird, nio,
                logging,
            ]),
        tests("SyncTests", ["TrackerService", "Store", "TrackerCore", "TrackerSupport"], exclude: ["server.py"]),
        .target(
            name: "DBusSupport", dependencies: ["DBus", "Support"], path: "Tests/DBusSupport", swiftSettings: strict),
        tests("DBusTests", ["DBus", "DBusSupport"]),
        tests(
            "NotificationsTests",
            [
                "Notifications", "DBus", "DBusSupport", "Store", "TrackerCore", "TrackerService", "TrackerSupport",
                "Utilities",
            ]),
        tests("BlueZTests", ["BlueZ", "Bluetooth", "DBus", "DBusSupport"]),
        tests("MQTTPublisherTests", ["HomeAssistant", "TrackerService", "Store", "TrackerCore", "TrackerSupport"]),
        tests("PostgreSQLTests", ["PostgreSQL", "TrackerService", "Store", "TrackerCore", "TrackerSupport"]),
        tests("ESPHomeTests", ["ESPHome", "Bluetooth", "Utilities"]),
        tests("CommandSupportTests", ["CommandSupport", "BlueZ", "Bluetooth", "DBus", "DBusSupport", logging]),
        // Bottle, link, poll and journal on simulated time, with faults.
        .target(
            name: "Simulation",
            dependencies: [
                "Gateway", "GatewaySupport", "Emulator", "BottleProtocol", "Bluetooth", "TrackerCore", "Support",
            ],
            path: "Tests/Simulation", swiftSettings: strict),
        // The simulation as a program: `hardware/bench simulate`.
        .executableTarget(
            name: "simulate", dependencies: ["Simulation"], path: "Tests/Simulate", swiftSettings: strict),
        tests(
            "SimulationTests",
            ["Simulation", "GatewaySupport", "Store", "Emulator", "BottleProtocol", "Bluetooth", "TrackerCore"]),
        // Rules for the source tree.
        tests("RepositoryTests", []),
        tests(
            "CommandTests",
            [
                "CommandSupport", "Gateway", "GatewaySupport", "HomeAssistant", "Notifications", "Emulator",
                "Bluetooth", "BottleProtocol", "DBusSupport", "Store", "TrackerCore", "TrackerSupport",
                "TrackerService", argumentParser, grdb,
            ],
            exclude: ["demo-month.csv", "never_reads.py", "read_lines.py", "tracker-tour.txt"]),
    ],
    swiftLanguageModes: [.v6]
)

// WATERH_TESTS names test targets: then the package has only these and what they depend on (`hardware/bench
// mutations`).
if let wanted = Context.environment["WATERH_TESTS"]?.split(separator: " ").map(String.init) {
    var (names, waiting) = (Set<String>(), wanted)
    while let name = waiting.popLast() {
        guard names.insert(name).inserted, let target = package.targets.first(where: { $0.name == name }) else {
            continue
        }
        for dependency in target.dependencies {
            if case .byNameItem(let other, _) = dependency { waiting.append(other) }
        }
    }
    package.targets.removeAll { !names.contains($0.name) }
    package.products.removeAll()
}
