import ArgumentParser
import CommandSupport
import Foundation
import HomeAssistant
import Store
import TrackerCore

struct Identity: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity",
        abstract: "Under which name brokers know this store, and whether a store that lies elsewhere now keeps it.",
        discussion: """
            A store that was copied would be one device with its original: it says nothing at a broker before somebody \
            says which of the two it is. "keep" is for one that was moved or \
            brought to another machine, "new" for a copy beside its original. A service that runs goes on within \
            seconds.
            """)

    enum Choice: String, ExpressibleByArgument, CaseIterable { case keep, new }

    @OptionGroup var place: StoreOptions

    @Flag(help: "One JSON object on standard output.")
    var json = false

    @Argument(help: "keep: it goes on as who it was. new: it is somebody else from now on. Neither: shows who it is.")
    var choice: Choice?

    func run() async throws {
        let file = try Configuration.load(place.config)
        let store = try place.place(file)
        // Who only asks makes no store.
        guard FileManager.default.fileExists(atPath: store.path) else {
            throw CommandFailure(
                .refused, "There is no store yet in \(store.path).", advice: "Name another with --store.")
        }
        // Also who may only read it may look, and looking changes nothing.
        guard let choice else { return try show(try store.open(hostZone: nil, for: .looking)) }
        let desk = try Depot(store, zone: place.namedZone(file)).desk()
        try show(desk.store) {
            do {
                try MQTTOutlet.settle(desk, at: Machine.home(of: store.path), asNew: choice == .new) {
                    try Resident.overlay($0, file: file.mqtt, instance: file.instance)
                }
            } catch let problem as any Problem where problem.code == MQTTOutlet.prefixTaken {
                throw CommandFailure(
                    problem,
                    advice: BrokerAdvice.prefixTaken(isFile: file.mqtt["mqtt.prefix"] != nil, store: store.path))
            }
        }
    }

    private func show(_ store: TrackerStore, after settle: () throws -> Void = {}) throws {
        guard try Depot.explained({ try MQTTOutlet.identity(of: store) }) != nil else {
            throw CommandFailure(
                .refused, "This store was never told to a broker: it has no name there.",
                advice: "Name a broker: waterh-tracker settings set mqtt.url mqtt://HOST")
        }
        try Depot.explained(settle)
        guard let known = try Depot.explained({ try MQTTOutlet.identity(of: store) }) else { return }
        if json {
            TextOutput.standard.line(
                (["client": .string(known.client), "path": JSONValue(known.path)] as JSONValue).text)
        } else {
            TextOutput.standard.line("\(known.client)\(known.path.map { ", from \($0)" } ?? "")")
        }
    }
}
