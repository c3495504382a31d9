// swift-tools-version: 6.2
import PackageDescription

// One target per subject, so that the compiler checks every arrow (see docs/architecture.md).
// Pure targets first, then one target for each heavy dependency, then the commands.

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let nio = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioHTTP = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")

/// Settings of every target of ours: `any` is written where it is meant. A warning is an error only where the
/// environment says so, as `.ci/run` does: a later Swift warns of more, and has to build this all the same.
let strict: [SwiftSetting] =
    (Context.environment["WATERH_WARNINGS"] == "errors" ? [.treatAllWarnings(as: .error)] : []) + [
        .enableUpcomingFeature("ExistentialAny")
    ]

func target(_ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .target(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict)
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
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/LebJe/TOMLKit", from: "0.6.0"),
        // HTTP: its parser, its back-pressure and its way of stopping. Without traits nothing is pulled in that we do
        // not use.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    ],
    targets: [
        // Pure: no time of day, no files, no radio.
        target("BottleProtocol"),
        // When a descriptor can be read or written.
        .systemLibrary(name: "CLinux"),
        target("Bluetooth", ["Utilities"]),
        target("Captures"),
        target("TrackerCore", ["Utilities"]),
        target("Utilities", ["CLinux"]),
        target("Emulator", ["BottleProtocol", "Bluetooth"]),
        target("Gateway", ["BottleProtocol", "Bluetooth", "TrackerCore"]),
        // What captures mean: attribution, drinks, and captures that answer as a bottle.
        target("Replay", ["BottleProtocol", "Bluetooth", "Captures", "Emulator", "CArchive"]),

        // One heavy dependency each.
        target("Store", ["Cryptography", "Utilities", "TrackerCore", grdb]),
        // The one way out over HTTP.
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
        .systemLibrary(name: "CBluetooth", pkgConfig: "bluez", providers: [.apt(["libbluetooth-dev"])]),
        .systemLibrary(name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CLibXML2", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),
        // Archives and compressed files.
        .systemLibrary(name: "CArchive", pkgConfig: "libarchive", providers: [.apt(["libarchive-dev", "zlib1g-dev"])]),
        .systemLibrary(name: "CMosquitto", pkgConfig: "libmosquitto", providers: [.apt(["libmosquitto-dev"])]),
        // A message bus, the system's or the user's: connection, calls, signals, objects of our own.
        target("DBus", ["CDBus", "Utilities"]),
        target("BlueZ", ["Bluetooth", "DBus", "Utilities", "CBluetooth"]),
        // Encryption, key agreement, signatures and digests.
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        target("Cryptography", ["CCrypto"]),
        // A Bluetooth proxy of ESPHome's, whose API is encrypted.
        target("ESPHome", ["Bluetooth", "Cryptography"]),

        // What a person can do with a store, by name, for every surface: command line, HTTP, MQTT, D-Bus.
        target("TrackerService", ["Store", "Gateway", "TrackerCore", "CArchive", "CLibXML2", "CCurl"]),

        // The commands' way to the store: the configuration file, where the store lies, its errors as exit codes.
        target(
            "CommandSupport",
            [
                "Store", "TrackerCore", "BottleProtocol", .product(name: "TOMLKit", package: "TOMLKit"), "Utilities",
                argumentParser, "Bluetooth", "Captures", "Replay", "Emulator", "BlueZ", "DBus", "ESPHome", logging,
            ]),

        // The pages, as bytes of the program; and the server that shows them and everything a desk can do.
        .target(name: "CDashboard", exclude: ["pages"]),
        target(
            "WebServer",
            [
                "Utilities", "TrackerService", "Store", "TrackerCore", "CDashboard", hummingbird, hummingbirdCore,
                httpTypes, nio, nioHTTP, logging,
            ]),

        // The same at an MQTT broker, and what Home Assistant is told of it.
        target("HomeAssistant", ["TrackerService", "Store", "TrackerCore", "Utilities", "CMosquitto"]),

        // Notifications in a person's pocket.
        target(
            "Notifications",
            ["Cryptography", "TrackerService", "Store", "TrackerCore", "Utilities", "DBus"]),

        command(
            "waterh-emulator",
            ["CommandSupport", "Emulator", "BottleProtocol", "Bluetooth", "Replay", "TrackerCore"]),
        command(
            "waterh-gateway",
            [
                "Utilities", "Gateway", "CommandSupport", "Emulator", "BottleProtocol", "Bluetooth", "Captures",
                "BlueZ", "Store", "TrackerService", "TrackerCore", "CLinux", "CQREncode", "Notifications", "WebServer",
                "HomeAssistant", logging,
            ]),
        // The style and the script of a capture's report, as bytes of the program.
        .target(name: "CReport", exclude: ["pages"]),
        command(
            "waterh-replay",
            [
                "Replay", "Utilities", "Captures", "Bluetooth", "BottleProtocol", "CommandSupport", "Emulator", "BlueZ",
                "CReport",
            ]),
        command(
            "waterh-tracker",
            ["Notifications", "Utilities", "CommandSupport", "TrackerService", "TrackerCore", "Store"]),

        // Measures what the project promises; not a product.
        .executableTarget(
            name: "Benchmarks",
            dependencies: ["BlueZ", "Bluetooth", "BottleProtocol", "Captures", "Store", "TrackerCore"],
            swiftSettings: strict),

        // Tests: one target per subject, the simulation, and the built commands.
        .target(name: "Support", path: "Tests/Support", exclude: ["peer.py"], swiftSettings: strict),
        tests("BottleProtocolTests", ["BottleProtocol"]),
        tests("DescriptorsTests", ["Utilities"]),
        tests("EscapingTests", ["Utilities"]),
        tests("BluetoothTests", ["Bluetooth"]),
        tests("CapturesTests", ["Captures"]),
        tests("ReplayTests", ["Replay", "Captures", "Bluetooth", "BottleProtocol", "Emulator"]),
        // From a capture file to ATT PDUs and back, with tshark as the judge.
        tests("ConversationTests", ["Replay", "Captures", "Bluetooth"]),
        tests("ArchivesTests", ["Replay", "Captures"]),
        tests("TrackerCoreTests", ["TrackerCore", "TrackerService"], exclude: ["Data"]),
        tests("ImportingTests", ["TrackerService", "TrackerCore"]),
        tests("VirtualBottleTests", ["Emulator", "BottleProtocol", "Bluetooth"]),
        // The document, the recogniser, the machine, and all three in a circle.
        tests("VirtualGadgetTests", ["Emulator", "CommandSupport", "Replay", "Captures", "Bluetooth"]),
        .target(
            name: "GatewaySupport", dependencies: ["Gateway", "BottleProtocol", "Bluetooth", "TrackerCore"],
            path: "Tests/GatewaySupport", swiftSettings: strict),
        tests("GatewayTests", ["Gateway", "GatewaySupport", "BottleProtocol", "Bluetooth", "TrackerCore"]),
        tests("StoreTests", ["Store", "TrackerCore", "GatewaySupport", "TrackerService", grdb]),
        tests(
            "TrackerDeskTests",
            ["Utilities", "TrackerService", "Store", "TrackerCore", "Gateway", "GatewaySupport", "Bluetooth"]),
        tests(
            "HTTPAPITests",
            ["WebServer", "TrackerService", "Store", "TrackerCore", hummingbird, nio, logging]),
        tests("OutgoingTests", ["TrackerService"]),
        tests("CryptographyTests", ["CCrypto", "Cryptography"]),
        tests("SyncTests", ["TrackerService", "Store", "TrackerCore"], exclude: ["server.py"]),
        .target(
            name: "DBusSupport", dependencies: ["DBus", "Support"], path: "Tests/DBusSupport", swiftSettings: strict),
        tests("DBusTests", ["DBus", "DBusSupport"]),
        tests("DesktopTests", ["Notifications", "DBus", "DBusSupport", "TrackerCore", "TrackerService", "Store"]),
        tests("BlueZTests", ["BlueZ", "Bluetooth", "DBus", "DBusSupport"]),
        tests("MQTTTests", ["HomeAssistant"]),
        tests("MQTTSurfaceTests", ["HomeAssistant", "TrackerService", "Store", "TrackerCore"]),
        tests("PocketSurfaceTests", ["Notifications", "TrackerService", "Store", "TrackerCore"]),
        tests("ESPHomeTests", ["ESPHome", "Bluetooth", "Cryptography"]),
        tests("HostControllerTests", ["BlueZ", "Bluetooth"]),
        tests("ServiceLogTests", ["CommandSupport", logging]),
        tests("LinksTests", ["CommandSupport", "BlueZ", "Bluetooth"]),
        // Scenarios on simulated time: bottle, link, poll, and a disk that is full now and then.
        .target(
            name: "Simulation",
            dependencies: [
                "Gateway", "GatewaySupport", "Utilities", "Emulator", "BottleProtocol", "Bluetooth", "TrackerCore",
                "Support",
            ],
            path: "Tests/Simulation", swiftSettings: strict),
        // The same without the tests' frame, for millions of seeds in a release build: `hardware/bench simulate`.
        .executableTarget(
            name: "simulate", dependencies: ["Simulation"], path: "Tests/Simulate", swiftSettings: strict),
        tests(
            "SimulationTests",
            [
                "Simulation", "GatewaySupport", "HomeAssistant", "Store", "Emulator", "BottleProtocol", "Bluetooth",
                "TrackerCore", "TrackerService",
            ]),
        // Rules for the source tree.
        tests("RepositoryTests", []),
        tests(
            "CommandTests",
            [
                "CommandSupport", "Gateway", "GatewaySupport", "HomeAssistant", "Notifications", "Emulator",
                "Bluetooth", "BottleProtocol", "DBusSupport", "Store", "TrackerCore", "TrackerService", argumentParser,
            ],
            exclude: ["demo-month.csv", "never_reads.py", "read_lines.py", "tracker-tour.txt"]),
    ],
    swiftLanguageModes: [.v6]
)

// Some test targets alone, with what they need: so `hardware/bench mutations` builds no more than it looks at.
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
