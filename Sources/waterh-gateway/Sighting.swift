import Bluetooth
import CommandSupport
import Gateway
import TrackerCore
import Utilities

/// A scanned bottle with its identity, for reading commands.
struct Sighting {
    let found: Advertisement
    /// The identity from a connection, if the advertisement has none.
    private let met: (identity: String, name: String?)?

    /// If the advertisement has no address (a socket), a short connection reads the identity. The identity is `nil` if
    /// the bottle is busy or does not respond within `limit`.
    init(_ found: Advertisement, on link: LinkOptions, hasRadio: Bool, limit: Duration) async {
        self.found = found
        met = hasRadio || found.address != nil ? nil : await Self.meet(link, limit)
    }

    private static func meet(_ options: LinkOptions, _ limit: Duration) async -> (identity: String, name: String?)? {
        guard let link = try? options.open() else { return nil }
        var meeting = PollOptions(zone: .utc)
        meeting.job = .send([])
        (meeting.limits.poll, meeting.limits.connect, meeting.limits.closing) = (limit, limit, .milliseconds(500))
        let driver = GatewayDriver(link: link, clock: .system(wall: { Machine.now() }))
        let report = await driver.poll(meeting)
        await driver.close()
        guard report.failure == nil, let identity = report.identity else { return nil }
        return (identity, report.name)
    }

    var identity: String? { found.isAddressPrivate ? nil : found.address?.description ?? met?.identity }

    var name: String? { found.name ?? met?.name }

    /// Whether the store owns the bottle; `nil` if unknown.
    func isOwn(_ own: [AdoptedBottle]) -> Bool? {
        guard let identity else { return nil }
        return own.contains { $0.identities.contains(identity) }
    }

    func words(_ own: [AdoptedBottle]) -> String {
        if found.isAddressPrivate { return "bottle (private address: identified by its serial number or name)" }
        guard let isOwn = isOwn(own), !own.isEmpty else { return "bottle" }
        return isOwn ? "bottle, this store's own" : "bottle, not adopted: \(adoption)"
    }

    /// The command that adopts the bottle.
    var adoption: String { "waterh-gateway adopt \(Escaping.shellWord(identity ?? found.peer.text))" }
}
