import BottleProtocol
import CommandKit
import CommandStore
import Foundation
import Gateway
import HTTPAPI
import Outgoing
import PocketSurface
import TrackerCore

/// What the service was asked to do: flags over environment over file.
struct ServicePlan: Sendable {
    /// In the order of the list; where there is none, the one who is there.
    let people: [PersonPlan]
    /// Where the page is shown; `nil` where nobody says but the settings.
    let listen: String?
    /// By which names other machines call this one.
    let names: [String]
    /// A proxy on this machine hands on what comes from elsewhere: nobody is believed to sit here.
    let isBehindProxy: Bool

    /// The configuration that was read; `nil` where there is none, or this user may not read it.
    let source: String?
    /// Who is listed, and not served here: their bottles are theirs all the same.
    let neighbours: [PersonEntry]
    /// What whoever started the service has to know: it does not do all that it was told.
    let remarks: [String]
    /// Whom services of this list have served; `nil` where one store is named.
    let served: ServedPeople?
    /// Who is not listed any more, and was served; their stores are still there.
    let gone: [PersonPlan]
    private let file: Configuration

    init(_ link: LinkOptions, _ place: StoreOptions, keep: Bool, listen: String?) throws {
        let path = place.config ?? Paths.configuration
        let file = try Configuration.load(place.config)
        self.file = file
        source = access(path, R_OK) == 0 ? path : nil
        guard place.store == nil || file.people.isEmpty else {
            throw CommandFailure(
                .wrongUse,
                "Several people are listed, each with a store, so --store cannot say whose day the service keeps.",
                advice:
                    """
                    Leave --store out, name one of them with --person \
                    (\(file.people.map(\.name).joined(separator: ", "))), or another configuration with --config.
                    """
            )
        }
        let other = Machine.variable("WATERH_STORE")
        var remarks =
            file.people.isEmpty
            ? []
            : other.map {
                [
                    """
                    WATERH_STORE (\($0)) is not used: waterh.toml lists people, and each one's day is in the store \
                    that stands there (\(file.people.map(\.name).joined(separator: ", "))). Unset it.
                    """
                ]
            } ?? []
        if place.isOne || file.people.isEmpty {
            var store = try place.place(file)
            // Nobody named a store, and the one of the system's service is not this user's to write: a service of one's
            // own keeps a day of one's own.
            if store.origin == .service, store.isShut(for: .writing) {
                remarks.append(
                    """
                    The system's service keeps another day in \(store.path), which is not yours to write: this \
                    service keeps yours in \(Paths.store).
                    """
                )
                store = StorePlace(path: Paths.store, origin: .own, beside: store.path)
            }
            people = [try PersonPlan(link, place, store, file, keep: keep)]
            neighbours = file.people.filter { store.person != nil && $0.name != store.person?.name }
        } else {
            try file.checkStores()
            neighbours = []
            guard link.wantedBottle == nil else {
                throw CommandFailure(
                    .wrongUse, "Several people are listed, and a bottle is one person's.",
                    advice: "Leave --bottle (and WATERH_BOTTLE) out, or name whose with --person.")
            }
            people = try file.people.map { person in
                try PersonPlan(
                    link, place, StorePlace(path: person.store, origin: .configuration, person: person), file,
                    keep: keep)
            }
        }
        let served = place.isOne ? nil : ServedPeople(of: place.config ?? Paths.configuration)
        let people = people
        let found = served?.look()
        served.flatMap { served in found.flatMap(served.remark) }.map { remarks.append($0) }
        var before: [ServedPeople.One] = []
        if case .people(let those)? = found { before = those }
        gone = before.compactMap { one in
            let entry = PersonEntry(name: one.name, store: one.store, link: one.link)
            guard FileManager.default.fileExists(atPath: one.store),
                !people.contains(where: { $0.store.isSameFile(as: one.store) })
            else { return nil }
            return try? PersonPlan(
                link, place, StorePlace(path: one.store, origin: .configuration, person: entry), file, keep: keep)
        }
        self.remarks = remarks
        // Who was never one of several has nobody to be told from.
        self.served = file.people.isEmpty && gone.isEmpty && found != .damaged ? nil : served
        self.listen = listen ?? Machine.variable("WATERH_LISTEN") ?? file.listen
        // By its public address it is called, too.
        names = (file.names ?? []) + [file.publicURL.flatMap(OutgoingURL.host)].compactMap(\.self)
        isBehindProxy = file.proxy ?? false
        if let listen = self.listen, listen != "off", HTTPServer.Endpoint(listen) == nil {
            throw CommandFailure(
                .wrongUse, "\"\(listen)\" is no place for the page.",
                advice: "Write 127.0.0.1:8077, 0.0.0.0:8077, [::1]:8077, or off.")
        }
    }

    /// The same, read again. A file that was there is expected to be there still: without it nobody would be listed,
    /// and everybody be let go.
    func reread(_ link: LinkOptions, _ place: StoreOptions, keep: Bool, listen: String?) throws -> ServicePlan {
        let new = try ServicePlan(link, place, keep: keep, listen: listen)
        guard let source, new.source == nil || access(source, R_OK) != 0 else { return new }
        throw CommandFailure(
            .badInput, "\(source) is not there any more, or may not be read any more.",
            advice: "Put it back and send SIGHUP again. To go on without it, start the service again.")
    }

    /// The links of all, each once.
    var links: String { Set(people.compactMap { try? "\($0.link.name)" }).sorted().joined(separator: ", ") }

    /// What the service does, in one line: whose days, over which links, in which stores.
    var words: String {
        let days = people.map { one in "\(one.listed.map { "\($0)'s day" } ?? "the day") in \(one.store.path)" }
        return
            """
            \(days.joined(separator: ", ")); bottles over \
            \(links)\(people.contains(where: \.keep) ? "; nothing is acknowledged" : "")
            """
    }

    /// The part of one who is not listed any more: the bottles of that store are nobody else's for it.
    func share(of gone: PersonPlan) -> HouseholdBottles.Share? { gone.store.person.map { OwnBottles.share($0, file) } }

    /// The parts of those who are listed and not served here.
    var neighbourShares: [HouseholdBottles.Share] { neighbours.map { OwnBottles.share($0, file) } }
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
    /// What the file says of MQTT, over the settings.
    let mqtt: [String: String]
    /// What it says of the person's phone, likewise.
    private(set) var pocket: [String: String]

    var name: String { listed ?? Self.nobodyListed }

    init(_ link: LinkOptions, _ place: StoreOptions, _ store: StorePlace, _ file: Configuration, keep: Bool) throws {
        listed = store.person?.name
        var store = store
        store.units = file.units
        self.store = store
        var link = link
        link.fill(file, for: store.person)
        self.link = link
        bottles = link.wantedBottle.map { [$0] } ?? store.person?.bottles ?? []
        zone = place.namedZone(file)
        dialect = place.dialect ?? file.dialect
        self.keep = keep || file.keep == true
        sharesWaterline = store.person?.shareWaterline ?? file.shareWaterline ?? false
        mqtt = file.mqtt
        var pocket = store.person?.pocket ?? file.pocket
        if let place = file.publicURL { pocket["http.publicUrl"] = place }
        self.pocket = pocket
        // A zone or a link that does not exist is told now, and not swallowed at a later poll.
        _ = (try Depot.choice(zone), try link.name)
        try checkPocket()
    }

    /// What the file says of a phone is told when it is wrong, as far as it can be known without the settings.
    private func checkPocket() throws {
        let settings = try pocketSettings(over: Settings()).service
        for service in NotificationChannel.allCases {
            do { _ = try NotificationTarget(service, settings, person: listed) } catch let problem as any Problem {
                throw CommandFailure(
                    .badInput,
                    """
                    [\(listed == nil ? "" : "person.")\(service.rawValue)] of the \
                    configuration\(listed.map { ", at \($0)" } ?? ""): \(problem.sentence)
                    """,
                    advice: "Mend it and start again (a service that runs: send it SIGHUP).")
            }
        }
    }

    /// What the file says goes before the settings.
    func pocketSettings(over settings: Settings) throws -> Settings {
        var settings = settings
        for (name, text) in pocket { try settings.set(name, to: text) }
        return settings
    }

    /// Whether the same store is filled by the same link: what else is said may change while the service runs.
    func isInPlace(of other: PersonPlan) -> Bool {
        store.path == other.store.path && link.link == other.link.link && name == other.name
    }
}
