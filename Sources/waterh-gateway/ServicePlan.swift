import BottleProtocol
import CommandKit
import CommandStore
import HTTPAPI

/// What the service was asked to do: flags over environment over file.
struct ServicePlan: Sendable {
    /// In the order of the list; where there is none, the one who is there.
    let people: [PersonPlan]
    /// Where the page is shown; `nil` where nobody says but the settings.
    let listen: String?
    /// By which names other machines call this one.
    let names: [String]

    init(_ link: LinkOptions, _ place: StoreOptions, keep: Bool, listen: String?) throws {
        let file = try Configuration.load(place.config)
        people = [try PersonPlan(link, place, file, keep: keep)]
        self.listen = listen ?? Machine.variable("WATERH_LISTEN") ?? file.listen
        names = file.names ?? []
        if let listen = self.listen, listen != "off", HTTPServer.Endpoint(listen) == nil {
            throw CommandFailure(.wrongUse, "\"\(listen)\" is no place for the page.", advice: "Write 127.0.0.1:8077, 0.0.0.0:8077, [::1]:8077, or off.")
        }
    }
}

/// What the service does for one person.
struct PersonPlan: Sendable {
    /// The name in paths where nobody is listed.
    static let nobodyListed = "me"

    /// As listed; `nil` where there is no list.
    let listed: String?
    let link: LinkOptions
    let store: StorePlace
    /// Names or addresses of the bottles; none: those that are the store's own.
    let bottles: [String]
    let zone: String?
    let dialect: RecordDialect?
    let keep: Bool
    let sharesWaterline: Bool

    var name: String { listed ?? Self.nobodyListed }

    init(_ link: LinkOptions, _ place: StoreOptions, _ file: Configuration, keep: Bool) throws {
        listed = nil
        var link = link
        link.fill(file)
        self.link = link
        bottles = link.wantedBottle.map { [$0] } ?? []
        store = try place.place(file)
        zone = place.namedZone(file)
        dialect = place.dialect ?? file.dialect
        self.keep = keep || file.keep == true
        sharesWaterline = file.shareWaterline == true
        // A zone that does not exist is told now, and not swallowed at a later poll.
        _ = try Depot.choice(zone)
    }

    /// Whether the same store is filled by the same link: what else is said may change while the service runs.
    func isInPlace(of other: PersonPlan) -> Bool { store.path == other.store.path && link.link == other.link.link && name == other.name }
}
