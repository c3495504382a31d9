import Bluetooth
import CommandSupport
import Gateway
import TrackerCore
import Utilities

/// A bottle that a scan has seen, and who it is, for the commands that only look.
struct Sighting {
    let found: Advertisement
    /// Who answered, where nothing on the air shows it.
    private let met: (identity: String, name: String?)?

    /// Where no peer shows an address (a socket), only a connection tells who it is: a short one, which asks for
    /// nothing else. A bottle that talks to somebody else meanwhile, or does not answer within `limit`, stays unknown.
    init(_ found: Advertisement, on link: LinkOptions, hasRadio: Bool, limit: Duration) async {
        self.found = found
        met = hasRadio || found.address != nil ? nil : await Self.meet(link, limit)
    }

    private static func meet(_ options: LinkOptions, _ limit: Duration) async -> (identity: String, name: String?)? {
        guard let link = try? options.open() else { return nil }
        var meeting = PollOptions(zone: .utc)
        meeting.job = .meet
        (meeting.limits.poll, meeting.limits.connect, meeting.limits.closing) = (limit, limit, .milliseconds(500))
        let driver = GatewayDriver(link: link, clock: .system(wall: { Machine.now() }))
        let report = await driver.poll(meeting, for: GatewayDriver.Party(journal: NoJournal()))
        await driver.close()
        guard report.failure == nil, let identity = report.identity else { return nil }
        return (identity, report.name)
    }

    /// What its drinks are kept under; `nil` where that cannot be told: an address that changes, or a bottle that was
    /// not met.
    var identity: String? { found.isAddressPrivate ? nil : found.address?.description ?? met?.identity }

    var name: String? { found.name ?? met?.name }

    /// `nil` where that cannot be told.
    func isOwn(_ own: [OwnBottle]) -> Bool? {
        guard let identity else { return nil }
        return own.contains { $0.identities.contains(identity) }
    }

    func words(_ own: [OwnBottle]) -> String {
        if found.isAddressPrivate { return "bottle (its address changes: it is known by its serial number or name)" }
        guard let isOwn = isOwn(own), !own.isEmpty else { return "bottle" }
        return isOwn ? "bottle, this store's own" : "bottle, not this store's: \(adoption)"
    }

    /// The command by which it becomes this store's.
    var adoption: String { "waterh-gateway adopt \(Escaping.shellWord(identity ?? found.peer.text))" }
}
