import Bluetooth
import CommandSupport
import Gateway
import TrackerCore
import Utilities

/// A scanned bottle with its identity, for commands that do not change it.
struct ScannedBottle {
    let found: Advertisement
    /// The identity from a connection, if the advertisement has none.
    private let connected: (identity: String, name: String?)?

    /// If the advertisement has no address (a socket), a short connection reads the identity. The identity is `nil` if
    /// the bottle is busy or does not respond within `limit`.
    init(_ found: Advertisement, on link: LinkOptions, hasRadio: Bool, limit: Duration) async {
        self.found = found
        connected = hasRadio || found.address != nil ? nil : await Self.identify(link, limit)
    }

    private static func identify(_ options: LinkOptions, _ limit: Duration) async -> (identity: String, name: String?)?
    {
        guard let link = try? options.open() else { return nil }
        var pollOptions = PollOptions(zone: .utc)
        pollOptions.job = .send([])
        (pollOptions.limits.poll, pollOptions.limits.connect, pollOptions.limits.closing) = (
            limit, limit, .milliseconds(500)
        )
        let driver = GatewayDriver(link: link, clock: .system(wall: { Machine.now() }))
        let report = await driver.poll(pollOptions)
        await driver.close()
        guard report.failure == nil, let identity = report.identity else { return nil }
        return (identity, report.name)
    }

    var identity: String? { found.isAddressPrivate ? nil : found.address?.description ?? connected?.identity }

    var name: String? { found.name ?? connected?.name }

    /// Whether the store owns the bottle; `nil` if unknown.
    func isOwn(_ ownBottles: [AdoptedBottle]) -> Bool? {
        guard let identity else { return nil }
        return ownBottles.contains { $0.identities.contains(identity) }
    }

    func kind(_ ownBottles: [AdoptedBottle]) -> String {
        if found.isAddressPrivate { return "bottle (private address: identified by its serial number or name)" }
        guard let isOwn = isOwn(ownBottles), !ownBottles.isEmpty else { return "bottle" }
        return isOwn ? "bottle, this store's own" : "bottle, not adopted: \(adoption)"
    }

    var adoption: String { "waterh-gateway adopt \(Escaping.shellWord(identity ?? found.peer.text))" }
}
