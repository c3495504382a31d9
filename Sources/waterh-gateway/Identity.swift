import ArgumentParser
import CommandSupport
import Foundation
import HomeAssistant
import Store
import TrackerCore
import TrackerService

struct Identity: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity", abstract: "Show or set the MQTT identity",
        discussion: """
            A copy of a store would publish as the same device as its original. So a store that was moved or copied \
            does not publish until you choose: "keep" for a store that was moved, "new" for a copy. A running service \
            continues within seconds.
            """)

    enum Choice: String, ExpressibleByArgument, CaseIterable { case keep, new }

    @OptionGroup var storeOptions: LocationOptions

    @Flag(help: "Print one JSON object")
    var json = false

    @Argument(help: "keep the identity, or make a new one (default: show it)")
    var choice: Choice?

    func run() async throws {
        let (file, store) = try storeOptions.load()
        // Showing the identity must not create a store.
        guard FileManager.default.fileExists(atPath: store.path) else {
            throw CommandFailure(
                .refused, "no store: \(store.path) does not exist", advice: "Name another store with --store.")
        }
        // Showing the identity requires only read permission and changes nothing.
        guard let choice else { return try show(try store.open(for: .reading)) }
        let tracker = try StoreProvider(store, zone: storeOptions.namedZone(file)).tracker()
        try show(tracker.store) {
            do {
                try MQTTPublisher.bindIdentity(tracker, at: Machine.location(of: store.path), asNew: choice == .new) {
                    try file.mqttSettings(over: $0)
                }
            } catch let problem as any Problem where problem.code == MQTTPublisher.prefixTaken {
                throw CommandFailure(
                    problem,
                    advice: BrokerAdvice.prefixTaken(inFile: file.settings["mqtt.prefix"] != nil, store: store.path))
            }
        }
    }

    private func show(_ store: TrackerStore, after bind: () throws -> Void = {}) throws {
        guard try MQTTPublisher.identity(of: store) != nil else {
            throw CommandFailure(
                .refused, "no MQTT identity: this store has never been published to a broker",
                advice: "Set a broker first: waterh-tracker settings set mqtt.url mqtt://HOST")
        }
        try bind()
        guard let known = try MQTTPublisher.identity(of: store) else { return }
        if json {
            TextOutput.standard.line(["client": .string(known.client), "path": JSONValue(known.path)])
        } else {
            TextOutput.standard.line("\(known.client)\(known.path.map { ", from \($0)" } ?? "")")
        }
    }
}

extension Machine {
    /// The machine ID and the store's path, by which the MQTT publisher detects a copied store.
    static func location(of path: String) -> PublisherLocation {
        let handle = FileHandle(forReadingAtPath: "/etc/machine-id")
        let number = (try? handle?.read(upToCount: 64)).flatMap { $0 } ?? Data()
        return PublisherLocation(machineID: String(decoding: number, as: UTF8.self), path: path)
    }
}
