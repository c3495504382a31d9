import ArgumentParser
import Bluetooth
import CommandSupport
import Gateway
import TrackerCore

struct Scan: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scan", abstract: "List bottles (or all devices) in range")

    @OptionGroup var link: LinkOptions

    @OptionGroup var location: LocationOptions

    @Option(help: "Scan duration in seconds (1–600)")
    var seconds = 10

    @Flag(help: "List all devices, not only bottles")
    var all = false

    @Flag(help: "Print one JSON object per line")
    var json = false

    func validate() throws {
        guard (1...600).contains(seconds) else { throw ValidationError("invalid --seconds \(seconds): expected 1–600") }
    }

    func run() async throws {
        let (file, storeLocation) = try location.load()
        let link = link.filled(from: file)
        let central = try link.open()
        let ownBottles = Adoption.adoptedBottles(storeLocation)
        let wanted = AdoptedBottle.resolvingAlias(link.selectedBottle, among: ownBottles)
        let end = Task { [seconds] in
            try await Task.sleep(for: .seconds(seconds))
            await central.close()
        }
        defer { end.cancel() }
        // A stop signal cancels the task, which also ends the link's events.
        let (outcome, stopped) = await Interruptible.stoppable { [self] in
            try await list(central, link, wanted: wanted, ownBottles)
        }
        await central.close()
        if stopped != nil { throw ExitCode(ExitStatus.interrupted.rawValue) }
        let advice = LinkAdvice(linkName: central.name, hasRadio: central.hasRadio)
        do {
            guard try outcome.get() == 0 else { return }
            throw CommandFailure(.noLink, "No bottle was seen in \(seconds) s.", advice: advice.about(.notFound))
        } catch let error as LinkError {
            throw CommandFailure(.noLink, asSentence(error.description), advice: advice.about(error.code))
        }
    }

    /// Prints each device, and prints it again when its data changes. Returns when the link is closed.
    private func list(
        _ central: any CentralLink, _ link: LinkOptions, wanted: String?, _ ownBottles: [AdoptedBottle]
    ) async throws -> Int {
        var seen: [PeerID: Advertisement] = [:]
        central.perform(.startScan)
        for await event in central.events {
            switch event {
            case .advertised(let found):
                let isBottle = !central.hasRadio || BottleSelector.looksLikeBottle(found)
                if let wanted, central.hasRadio,
                    !BottleSelector(text: wanted).matches(address: found.address, name: found.name)
                {
                    continue
                }
                guard all || isBottle || wanted != nil, seen[found.peer] != found else { continue }
                seen[found.peer] = found
                let seen = await ScannedBottle(
                    found, on: link, hasRadio: central.hasRadio, limit: .seconds(min(seconds, 5)))
                TextOutput.standard.line(
                    json
                        ? Self.object(seen, isBottle: isBottle, ownBottles).text
                        : Self.description(seen, isBottle: isBottle, ownBottles))
                TextOutput.standard.flush()
            case .scanFailed(let error), .unavailable(let error):
                throw error
            default:
                break
            }
        }
        return seen.count
    }

    private static func object(_ seen: ScannedBottle, isBottle: Bool, _ ownBottles: [AdoptedBottle]) -> JSONValue {
        let found = seen.found
        return [
            "peer": .string(found.peer.text), "address": JSONValue(found.address?.description),
            "name": JSONValue(seen.name),
            "services": .array(found.services.map { .string($0.description) }), "rssi": JSONValue(found.rssi),
            "bottle": .bool(isBottle),
            "identity": JSONValue(isBottle ? seen.identity : nil),
            "own": JSONValue(isBottle ? seen.isOwn(ownBottles) : nil), "privateAddress": .bool(found.isAddressPrivate),
        ]
    }

    private static func description(_ seen: ScannedBottle, isBottle: Bool, _ ownBottles: [AdoptedBottle]) -> String {
        let found = seen.found
        return [
            found.address?.description ?? found.peer.text, isBottle && found.address == nil ? seen.identity : nil,
            seen.name ?? "(no name)", found.rssi.map { "\($0) dBm" },
            found.services.isEmpty ? nil : found.services.map(\.description).joined(separator: " "),
            isBottle ? seen.kind(ownBottles) : nil,
        ].compactMap { $0 }.joined(separator: "  ")
    }
}
